#ifndef CPROF_EVENT_EVLADDER_H
#define CPROF_EVENT_EVLADDER_H

/*
 * The fallbacks of opening an event, in one table: what is left out, after which refusals, for
 * which events: newest attr -> without new bits -> precise 3..0 -> user only -> software clock.
 * Bits that older kernels do not know belong in new_bits in evladder.c.
 */

#include <linux/perf_event.h>
#include <stdbool.h>

struct evopen;
struct evopen_place;
struct evspec;

/* The position of an attempt on the ladder; all zero at first. */
struct evladder {
	unsigned given_up;               /* enum evopen_given_up */
	unsigned tried;                  /* a bit per rung that may be taken only once, and was */
	bool on_trial;                   /* the last rung stays only if it helped */
	int refused;                     /* on_trial: the errno that led to it */
	unsigned given_up_before;
	struct perf_event_attr before;
};

/*
 * Takes the next rung that may help against errno errnum: changes *a; false if there is none.
 * Finds out by opening events on this process which new bits the kernel does not know, so that all
 * events of a session lose the same ones and share their layout.
 */
bool evladder_step(struct evladder *l, const struct evopen *o, const struct evspec *s,
		   const struct evopen_place *at, struct perf_event_attr *a, int errnum);

#endif
