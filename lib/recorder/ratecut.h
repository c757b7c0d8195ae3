#ifndef CPROF_RECORDER_RATECUT_H
#define CPROF_RECORDER_RATECUT_H

/* --adaptive: when is a rate one that the machine cannot bear?  Decides for one event. */

#include <stdbool.h>
#include <stdint.h>

enum ratecut_verdict {
	RATECUT_KEEP,
	RATECUT_THROTTLED,  /* the kernel paused the event */
	RATECUT_LOST,       /* more than one sample in a hundred found no room */
};

/* What was seen so far, of one event. */
struct ratecut_seen {
	uint64_t n_samples, n_lost, n_throttles;
};

struct ratecut {
	struct ratecut_seen last;   /* at the last decision */
	uint64_t time_ns;
};

void ratecut_init(struct ratecut *a, uint64_t now_ns);

/* Looks five times a second at what has happened since; anything but KEEP asks for half the
 * rate. */
enum ratecut_verdict ratecut_judge(struct ratecut *a, const struct ratecut_seen *seen,
				     uint64_t now_ns);

/* Half a rate: a frequency of at least 1 Hz (is_freq), or a period twice as long.  Returns rate
 * itself where it cannot be lowered. */
uint64_t ratecut_lower(uint64_t rate, bool is_freq);

#endif
