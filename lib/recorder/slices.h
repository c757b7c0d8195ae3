#ifndef CPROF_RECORDER_SLICES_H
#define CPROF_RECORDER_SLICES_H

/*
 * A recording that keeps only its last seconds (cprof_config.keep_last_ns).  Time is cut into
 * slices.  The last SLICES_N are kept beside the present one, so that they cover that time and at
 * most one slice more.  The present slice is the engine's counts.
 *
 * Between gather and scatter the engine's profile is the sum of all slices.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agg/counts.h"
#include "labels/applabels.h"
#include "engine/functions.h"
#include "labels/golabels.h"
#include "stack/stack-walk.h"
#include "source/source.h"

struct engine;
struct engine_event;
struct err;
struct window;

#define SLICES_N 20u

struct slice {
	struct counts counts;
	struct engine_event *event;
	struct stack_walk_stats walk;
	struct stack_user_counts user;
	struct applabels_stats app;
	struct golabels_stats go;
	struct functions_stats functions;
	uint64_t n_labels_dropped;
	struct source_count *base;     /* per event, when it began */
	int64_t start_realtime_ns;     /* as in struct window */
	uint64_t start_ns, start_active_ns;
};

struct slices {
	/* Borrowed by slices_init. */
	struct engine *engine;         /* whose profile is cut */
	struct window *window;         /* that of the present slice */

	uint64_t keep_last_ns;
	uint64_t slice_ns;             /* 0: everything is kept */
	uint64_t since_ns;             /* when the present one began */
	size_t n;
	bool gathered;
	uint64_t compacted_ns;         /* when slices_compact last ran */
	struct slice old[SLICES_N + 1];  /* oldest first; while gathered, the present one is last */
};

/* keep_last_ns: what the slices cover together; 0: everything is kept, without slices. */
void slices_init(struct slices *s, struct engine *g, struct window *w, uint64_t keep_last_ns);

/* Is a slice complete? */
bool slices_are_due(const struct slices *s, uint64_t now_ns);

/* If a slice is complete, cuts it off and drops the oldest.  -ENOMEM with e set. */
int slices_advance(struct slices *s, uint64_t now_ns, struct err *e);

/* If a run is due, frees what no slice needs. */
void slices_compact(struct slices *s, uint64_t now_ns);

/* Makes the engine's profile and the window cover all slices.  -ENOMEM with e set. */
int slices_gather(struct slices *s, struct err *e);
/* Undoes slices_gather: back to the present slice. */
void slices_scatter(struct slices *s);

/* Drops all slices but the present one, which must not be gathered. */
void slices_clear(struct slices *s);

#endif
