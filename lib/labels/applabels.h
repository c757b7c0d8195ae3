#ifndef CPROF_LABELS_APPLABELS_H
#define CPROF_LABELS_APPLABELS_H

/*
 * A provider of labels: those that programs set for their current activity (cprof-labels.h), as
 * read from the memory of the processes while they live.  It finds the set that each thread had at
 * any time.
 *
 * A thread's changes are read with their times and kept until the samples of that time have been
 * processed, so a sample gets the labels that were current when it was taken.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels/appvalues.h"
#include "labels/labelmem.h"
#include "labels/pollpids.h"
#include "proc/idmap.h"

struct budget;
struct dso_table;
struct host;
struct labels;
struct procs_process;
struct strtab;

struct applabels_stats {
	uint64_t n_processes;      /* with labels */
	uint64_t n_changes;        /* seen */
	uint64_t n_unknown;        /* samples whose program's labels at that time are unknown */
	uint64_t n_other;          /* changes to a set with some value beyond the limit */
	uint64_t n_denied;         /* processes whose memory may not be read */
	uint64_t n_bad;            /* malformed registries */
};

struct applabels {
	struct budget *budget;
	struct strtab *strings;    /* borrowed, like the following */
	struct labels *labels;
	const struct dso_table *dsos;
	const struct host *host;
	struct appvalues values;   /* is_taken may be set */
	bool is_frugal;            /* may be set: processes are read fifty times less often */
	struct applabels_stats stats;
	/* private */
	labelmem_read_fn *read;    /* for tests; or NULL */
	void *read_ctx;
	struct labelmem_clock clock;
	struct idmap process;      /* struct appprocess by pid */
	struct pollpids polls;     /* those with registries */
	uint64_t newest_ns;
};

void applabels_init(struct applabels *a, struct budget *budget, struct strtab *strings,
		    struct labels *labels, const struct dso_table *dsos, const struct host *host);
void applabels_done(struct applabels *a);

/*
 * The set (id in labels) that thread tid of process p had at time_ns: 0 for none.  Reads the
 * process's changes up to then if necessary.  The times of one thread must not decrease.
 */
uint32_t applabels_at(struct applabels *a, const struct procs_process *p, uint32_t tid,
		      uint64_t time_ns);

/* Thread tid of process p has forked process child: its first thread has tid's labels. */
void applabels_fork(struct applabels *a, const struct procs_process *p, uint32_t tid,
		    uint32_t child, uint64_t time_ns);

/* Resets the statistics: another profile begins, whose values are counted anew. */
void applabels_clear(struct applabels *a);

/* The process has become another program, or has ended. */
void applabels_forget(struct applabels *a, uint32_t pid);

/* Forgets threads that are gone, and what can be read again. */
void applabels_trim(struct applabels *a);

/* Calls each for every id of a label set that is kept here; each may change the id.  Call it after
 * applabels_trim. */
void applabels_each_set(struct applabels *a, void (*each)(void *ctx, uint32_t *set), void *ctx);

/* Reads what changed in the processes that are due: a thread's memory holds a limited number of
 * changes. */
void applabels_poll(struct applabels *a);

/* When applabels_poll should be called again, in ms from now; -1: at any time. */
int applabels_timeout_ms(const struct applabels *a);

#endif
