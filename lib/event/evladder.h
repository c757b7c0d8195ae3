#ifndef CPROF_EVENT_EVLADDER_H
#define CPROF_EVENT_EVLADDER_H

/*
 * The fallbacks of opening an event, in one table: what is left out, upon which refusals, of which
 * events.  newest attr -> without new bits -> precise 3..0 -> user only -> software clock.
 * Whoever adds a bit to the attrs that older kernels do not know adds it to new_bits in
 * evladder.c.
 */

#include <linux/perf_event.h>
#include <stdbool.h>

struct evopen;
struct evopen_place;
struct evspec;

/* Where on the ladder an attempt stands; all zero at first. */
struct evladder {
	unsigned given_up;               /* enum evopen_given_up */
	unsigned tried;                  /* bit per rung that is tried but once, and was */
	bool on_trial;                   /* the last rung counts only if it helped */
	int refused;                     /* on_trial: the errno that led to it */
	unsigned given_up_before;
	struct perf_event_attr before;
};

/*
 * Takes the next rung that may help against errno errnum: changes *a; false when there is none.
 * Finds out by opening (on this process) which new bits the kernel does not know, so that all
 * events of a session lose the same ones and share their layout.
 */
bool evladder_step(struct evladder *l, const struct evopen *o, const struct evspec *s,
		   const struct evopen_place *at, struct perf_event_attr *a, int errnum);

#endif
