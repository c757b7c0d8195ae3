#ifndef CPROF_RECORDER_RATECUT_H
#define CPROF_RECORDER_RATECUT_H

/* --adaptive: decides when the machine cannot sustain the rate of an event. */

#include <stdbool.h>
#include <stdint.h>

enum ratecut_verdict {
	RATECUT_KEEP,
	RATECUT_THROTTLED,  /* the kernel throttled the event */
	RATECUT_LOST,       /* more than one sample in a hundred was lost */
};

/* Counters of one event so far. */
struct ratecut_seen {
	uint64_t n_samples, n_lost, n_throttles;
};

struct ratecut {
	struct ratecut_seen last;   /* at the last decision */
	uint64_t time_ns;
};

void ratecut_init(struct ratecut *a, uint64_t now_ns);

/* Would ratecut_judge look? */
bool ratecut_is_due(const struct ratecut *a, uint64_t now_ns);

/* Looks at the changes five times a second.  Any verdict but KEEP means: halve the rate. */
enum ratecut_verdict ratecut_judge(struct ratecut *a, const struct ratecut_seen *seen,
				     uint64_t now_ns);

/* Half a rate: a frequency of at least 1 Hz (is_freq), or twice the period.  Returns rate itself if
 * it cannot be lowered. */
uint64_t ratecut_lower(uint64_t rate, bool is_freq);

#endif
