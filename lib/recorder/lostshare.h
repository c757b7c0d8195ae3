#ifndef CPROF_RECORDER_LOSTSHARE_H
#define CPROF_RECORDER_LOSTSHARE_H

/* How many of the samples that the kernel could not deliver belong to the target. */

#include <stdbool.h>
#include <stdint.h>

struct lostshare_seen {
	uint64_t n_lost;               /* of all tasks that the event covers */
	uint64_t n_samples, n_foreign; /* delivered: of the target, of others */
	double value;                  /* what the target's samples stand for */
	double used;                   /* what really happened, in that unit; negative: unknown */
	bool only_target;              /* the event covers no other task */
};

struct lostshare {
	uint64_t n, n_max;             /* of the target, and at most */
	bool is_estimate;              /* some may be of other tasks */
};

/* An estimate by the target's share of the delivered samples, within what is possible: no more of
 * its samples can be missing than what it used by the kernel's accounts, plus three standard errors
 * of their number. */
struct lostshare lostshare_estimate(const struct lostshare_seen *s);

#endif
