#ifndef CPROF_EVENT_EVTRACE_H
#define CPROF_EVENT_EVTRACE_H

/* Tracepoints as tracefs lists them (Documentation/trace/events.rst): a folder for each system,
 * with a folder for each of its events, whose file "id" holds what perf_event_open(2) takes. */

#include <stdint.h>

#include "base/vec.h"

struct err;
struct host;

struct evtrace_point {
	char *name;       /* "sched_switch" */
	uint64_t id;
};

struct evtrace_list {
	VEC(struct evtrace_point) points;  /* by name */
};

/*
 * The tracepoints of a system whose names match the pattern ('*' and '?').  -ENOENT: none; -ENODEV:
 * tracefs is not mounted; -EACCES: it may not be read; -ENOMEM; all with e set, including the
 * remedy.
 */
int evtrace_find(const struct host *h, const char *system, const char *pattern,
		 struct evtrace_list *ret, struct err *e);
void evtrace_list_done(struct evtrace_list *l);

/* All "system:name", sorted, separated by '\n'; "" if they cannot be read.  The caller frees.
 * NULL: no memory. */
char *evtrace_names(const struct host *h);

#endif
