#ifndef CPROF_CMD_PUSH_PACE_H
#define CPROF_CMD_PUSH_PACE_H

/* When a failed request is tried again: after 1, 2, 4 ... seconds up to 5 minutes, each time with
 * half of it at random, so that the pushers of a fleet do not come back together.  A server that
 * says when is obeyed. */

#include "cmd/push/push-answer.h"

#include <stdbool.h>
#include <stdint.h>

#define PUSH_PACE_FIRST_NS UINT64_C(1000000000)
#define PUSH_PACE_LAST_NS UINT64_C(300000000000)
#define PUSH_PACE_TELL_NS UINT64_C(600000000000)
#define PUSH_PACE_BROKEN_TRIES 5u

struct push_pace {
	uint64_t wait_ns;        /* of the next failure; 0: there was none */
	uint64_t next_ns;        /* do nothing before this time */
	uint32_t n_failures;     /* in a row */
	uint32_t n_broken;       /* of these, PUSH_BROKEN */
	uint64_t told_ns;        /* when the failure was last reported; 0: not yet */
	enum push_verdict told;  /* that failure */
};

/* After a failure that allows another try.  random: any number. */
void push_pace_failed(struct push_pace *p, const struct push_answer *a, enum push_verdict v,
		      uint64_t now_ns, uint64_t random);

/* After an answer that settles a request.  Returns the number of failures before it. */
uint32_t push_pace_settled(struct push_pace *p);

/* Is a failure to be reported now?  The first time, when it becomes another one, and then every ten
 * minutes. */
bool push_pace_tells(struct push_pace *p, enum push_verdict v, uint64_t now_ns);

/* Has the server had enough tries to get rid of its own error? */
bool push_pace_gives_up(const struct push_pace *p);

#endif
