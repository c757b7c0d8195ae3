#ifndef CPROF_EVENT_EVEXPLAIN_H
#define CPROF_EVENT_EVEXPLAIN_H

/* Error messages for refusals of perf_event_open(2): what failed, why, and what the user can do. */

struct err;
struct evcause_request;
struct host;

/* Sets e to "cannot open event 'NAME' on cpu N: <errno text>", with the cause and the remedies as
 * its hint, the least far-reaching remedy first.  Returns -errnum; e may be NULL. */
int evexplain_set(const struct host *h, const struct evcause_request *r, int errnum,
		  struct err *e);

#endif
