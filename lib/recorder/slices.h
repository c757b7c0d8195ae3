#ifndef CPROF_RECORDER_SLICES_H
#define CPROF_RECORDER_SLICES_H

/*
 * A recording that keeps only its last seconds (cprof_config.keep_last_ns): time is cut into
 * slices, the last SLICES_N of which are kept beside the present one, so that what is kept reaches
 * back for that time and at most one slice more.  The present slice is the engine's counts.
 *
 * Between gather and scatter the engine's profile is that of all slices.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agg/counts.h"
#include "labels/applabels.h"
#include "stack/stack-walk.h"
#include "source/source.h"

struct cprof_recorder;
struct engine_event;
struct err;

#define SLICES_N 20u

struct slice {
	struct counts counts;
	struct engine_event *event;
	struct stack_walk_stats walk;
	struct stack_user_counts user;
	struct applabels_stats app;
	uint64_t n_labels_dropped;
	struct source_count *base;       /* per event, when it began */
	int64_t start_realtime_ns;
	uint64_t start_ns, duration_ns;
};

struct slices {
	uint64_t slice_ns;             /* 0: everything is kept */
	uint64_t since_ns;             /* when the present one began */
	size_t n;
	bool gathered;
	uint64_t compacted_ns;         /* when slices_compact last did something */
	struct slice old[SLICES_N + 1];  /* oldest first; while gathered, the present one behind */
};

/* Cuts, and forgets the oldest, if it is time.  -ENOMEM with e set. */
int slices_advance(struct cprof_recorder *r, uint64_t now_ns, struct err *e);

/* Forgets what no slice needs, if it is time. */
void slices_compact(struct cprof_recorder *r, uint64_t now_ns);

/* Makes the engine's profile, the window and its base that of all that is kept. */
int slices_gather(struct cprof_recorder *r, struct err *e);
/* Back to the present slice. */
void slices_scatter(struct cprof_recorder *r);

/* Forgets all but the present one, which must not be gathered. */
void slices_clear(struct cprof_recorder *r);

#endif
