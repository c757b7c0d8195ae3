#ifndef CPROF_EVENT_EVEXPLAIN_H
#define CPROF_EVENT_EVEXPLAIN_H

/* The words for a refusal of perf_event_open(2): what failed, why, and what the user can do. */

struct err;
struct evcause_request;
struct host;

/* Fills e with "cannot open event 'NAME' on cpu N: <errno text>", and as its hint the cause,
 * and what to do about it, the least far-reaching remedy first.  Returns -errnum; e may be NULL. */
int evexplain_set(const struct host *h, const struct evcause_request *r, int errnum,
		  struct err *e);

#endif
