/*
 * Seven halvings make a rate sustainable that was a hundred times too high.  Each follows a fifth
 * of a second after the previous one, so that records still in the rings do not count against the
 * new rate.  The rate never rises again: a machine that could not sustain it once will not sustain
 * it when the load returns.
 */

#include "recorder/ratecut.h"

#define LOOK_NS 200000000u
#define LOST_PERCENT 1

void ratecut_init(struct ratecut *a, uint64_t now_ns)
{
	*a = (struct ratecut){ .time_ns = now_ns };
}

bool ratecut_is_due(const struct ratecut *a, uint64_t now_ns)
{
	return now_ns >= a->time_ns + LOOK_NS;
}

enum ratecut_verdict ratecut_judge(struct ratecut *a, const struct ratecut_seen *seen,
				     uint64_t now_ns)
{
	if (!ratecut_is_due(a, now_ns))
		return RATECUT_KEEP;
	uint64_t n = seen->n_samples - a->last.n_samples, n_lost = seen->n_lost - a->last.n_lost;
	bool throttled = seen->n_throttles > a->last.n_throttles;
	a->last = *seen;
	a->time_ns = now_ns;
	if (throttled)
		return RATECUT_THROTTLED;
	return n_lost * 100 > (n + n_lost) * LOST_PERCENT ? RATECUT_LOST : RATECUT_KEEP;
}

uint64_t ratecut_lower(uint64_t rate, bool is_freq)
{
	if (is_freq)
		return rate > 1 ? rate / 2 : rate;
	return rate < UINT64_C(1) << 62 ? rate * 2 : rate;
}
