#ifndef CPROF_EVENT_EVLIST_H
#define CPROF_EVENT_EVLIST_H

/* What the catalogue (cprof-events.h) shares between its files. */

struct cprof_event_probe;
struct host;

/* The machine that a probe looks at; borrowed. */
const struct host *evlist_host(const struct cprof_event_probe *p);

#endif
