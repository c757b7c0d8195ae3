#ifndef CPROF_LABELS_GOLABELS_H
#define CPROF_LABELS_GOLABELS_H

/*
 * A provider of labels: those of goroutines (pprof.Do, pprof.SetGoroutineLabels), as read from the
 * memory of Go programs while they run, cprof-go(7).
 *
 * The labels of a sample are exact if breakpoints report all changes (gobreak.h), and otherwise
 * those that its goroutine has when it is read next, up to some 10 ms later.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels/gobreak.h"
#include "labels/gofind.h"
#include "labels/gopieces.h"
#include "labels/lateness.h"
#include "labels/pollpids.h"
#include "proc/idmap.h"

struct applabels;
struct arch;
struct budget;
struct dso_table;
struct host;
struct labels;
struct procs_process;
struct record;
struct strtab;

enum golabels_mode {               /* as enum cprof_go_labels */
	GOLABELS_AUTO,             /* exact where that is cheap */
	GOLABELS_EXACT,            /* exact or none */
	GOLABELS_LATE,
	GOLABELS_OFF,
};

#define GOLABELS_LATE_KEY "go::labels"     /* "late": they were read late */
#define GOLABELS_GOROUTINE_KEY "go::goroutine"

struct golabels_stats {
	uint64_t n_processes;      /* whose goroutines have labels */
	uint64_t n_exact, n_late, n_unknown;       /* samples of them */
	uint64_t n_unsupported;    /* processes */
	uint64_t n_changes;        /* reported */
	uint64_t changes_ns;       /* what these cost the programs */
	struct lateness lateness;
};

struct golabels_wanted {
	enum golabels_mode mode;
	bool ids;                  /* the numbers of goroutines are labels, too */
	const char *not_exact;     /* why labels cannot be exact; NULL: they can */
	evopen_fn *open;           /* NULL: likewise */
};

struct golabels_options {
	struct golabels_wanted wanted;
	struct budget *budget;     /* borrowed, like the following */
	struct strtab *strings;
	struct labels *labels;
	struct applabels *app;     /* whose limits of values and counters of losses it shares */
	const struct dso_table *dsos;
	const struct host *host;
	const struct arch *arch;   /* NULL: there are no labels */
};

struct golabels {
	struct golabels_options options;
	struct golabels_stats stats;
	char why[GOBREAK_WHY_BYTES + 64];          /* why labels are not exact; "" */
	char unsupported[GO_VERSION_BYTES_MAX];  /* version of the last such program; "" */
	/* private */
	struct gobreak breaks;
	struct gofind files;
	struct gopieces pieces;
	uint64_t n_lost_seen;
	struct idmap process;      /* struct golabels_process by pid */
	struct golabels_process *last;             /* of the last look-up; NULL */
	struct pollpids polls;
	size_t n_charged_bytes;
	unsigned int g_reg, sp_reg; /* perf's numbers */
	uint32_t late_set;         /* the set with GOLABELS_LATE_KEY only; 0: not made yet */
};

void golabels_init(struct golabels *a, const struct golabels_options *o);
void golabels_done(struct golabels *a);

/* The set (id in labels) of a sample: 0 for none. */
uint32_t golabels_at(struct golabels *a, const struct procs_process *p, const struct record *r);

/* As their namesakes in applabels.h. */
void golabels_clear(struct golabels *a);
void golabels_forget(struct golabels *a, uint32_t pid);
void golabels_trim(struct golabels *a);
void golabels_each_set(struct golabels *a, void (*each)(void *ctx, uint32_t *set), void *ctx);
void golabels_poll(struct golabels *a);
int golabels_timeout_ms(const struct golabels *a);

/* Others record the samples from now on: closes everything. */
void golabels_stop(struct golabels *a);

#endif
