#ifndef CPROF_LABELS_GOPROCESS_LABELS_H
#define CPROF_LABELS_GOPROCESS_LABELS_H

/* One Go program with labels, and how they are read: the parts of golabels.c. */

#include "labels/gofind.h"
#include "labels/golabels.h"
#include "labels/goread.h"

enum golabels_state {
	GOLABELS_NONE,             /* not a Go program, or it cannot be read */
	GOLABELS_WATCHED,          /* no goroutine was seen with labels */
	GOLABELS_BY_CHANGES,       /* breakpoints report when they change */
	GOLABELS_BY_READING,
};

struct golabels_process {
	uint32_t pid;
	enum golabels_state state;
	bool is_searched, is_counted, is_allgs_sought;
	bool is_denied;            /* breakpoints: they were refused, or given up */
	uint32_t n_space_changes;  /* the address space that was searched for a program */
	struct golabels *all;
	struct gofind_program program;
	struct goread read;
	struct gobreak_events events;
	struct gobreak_events births;      /* creations; none: refused, or given up */
	uint64_t enters_at;        /* the lowest return address in pprof.Do so far; 0: none */
	bool leaves_later;         /* and there was another one */
	uint64_t opened_ns, reported_ns;   /* of events: since when; without a loss */
	uint64_t births_ns;                /* every birth since then was reported; 0: none */
	uint64_t n_changes, n_births;      /* reported */
	uint64_t n_paid;                   /* of both, taken off saved_ns */
	uint64_t cpu_ns, opened_cpu_ns;    /* CPU time at the last payment; at opened_ns */
	int64_t saved_ns;                  /* what breakpoints may still cost */
	uint64_t counted_ns;               /* the last reading that lateness has counted */
};

/* Opens the program if there is one. */
void goprocess_labels_search(struct golabels_process *p, const struct procs_process *of);
void goprocess_labels_done(struct golabels_process *p);

/* Reads its memory, and decides how to go on.  False: it is gone. */
bool goprocess_labels_read(struct golabels_process *p);

/* Some goroutine has had labels: decides how they are read. */
void goprocess_labels_use(struct golabels_process *p);

/* When it should be read again, in ns from now. */
uint64_t goprocess_labels_wait_ns(const struct golabels_process *p, uint64_t now_ns);

static inline bool goprocess_labels_is_used(const struct golabels_process *p)
{
	return p->state >= GOLABELS_BY_CHANGES;
}

#endif
