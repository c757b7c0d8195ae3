#ifndef CPROF_EVENT_EVKIND_H
#define CPROF_EVENT_EVKIND_H

/* The part of an event before terms and modifiers: a name, a PMU, a tracepoint, a probe ... */

struct evcursor;

int evkind_parse(struct evcursor *p);

#endif
