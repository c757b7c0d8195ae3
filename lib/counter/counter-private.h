#ifndef CPROF_COUNTER_COUNTER_PRIVATE_H
#define CPROF_COUNTER_COUNTER_PRIVATE_H

/* What the files of a counter share. */

#include "base/host.h"
#include "base/log.h"
#include "base/vec.h"
#include "cprof-counter.h"
#include "event/evattr.h"
#include "event/evopen.h"
#include "event/evspec.h"

struct counter_event {
	struct perf_event_attr attr;   /* as opened, if is_found */
	unsigned given_up;             /* enum evopen_given_up */
	const char *why_not;           /* static; NULL: not refused so far */
	bool is_denied;                /* why_not is about rights */
	bool is_found;                 /* attr opens */
	bool is_outside;               /* a member that does not fit into its group (weak) */
};

/* Where events are opened: a thread, a command or a CPU. */
struct counter_place {
	pid_t pid, tid;                /* tid 0: no thread */
	int cpu;                       /* -1: any */
	bool is_gone;                  /* the thread had ended before its events were opened */
};

struct cprof_counter {
	struct cprof_counter_config config;
	struct log log;
	struct host own_host;
	const struct host *host;
	struct evopen open;
	struct evattr_options attr;
	struct evspec_list events;     /* variants of an event have the same output */
	struct counter_event *event;   /* of each variant */
	VEC(struct counter_place) places;
	VEC(int) fds;                  /* [place * events.n + variant]; -1: none */
	struct cprof_counter_row *row;
	size_t n_rows;
	struct cprof_counter_value *value;  /* [row * n_outputs + output] */
	size_t n_unsure;
	size_t n_ended;                /* the first ids, of processes and then of threads */
	size_t n_cpus;
};

/* Finds the places, opens all events there, and makes the rows.  -errno with e set. */
int counter_open(struct cprof_counter *c, struct err *e);

#endif
