/* A sample is lost because of its CPU's ring, not because of its task. */

#include "recorder/lostshare.h"

#include <math.h>

static uint64_t least(uint64_t a, double b)
{
	return b < (double)a ? (uint64_t)b : a;
}

struct lostshare lostshare_estimate(const struct lostshare_seen *s)
{
	uint64_t n_seen = s->n_samples + s->n_foreign;
	bool is_accounted = s->used >= 0 && s->n_samples && s->value > 0;
	struct lostshare r = { .n = s->n_lost, .n_max = s->n_lost };
	if (n_seen)
		r.n = (uint64_t)((double)s->n_lost * (double)s->n_samples / (double)n_seen + 0.5);
	if (is_accounted) {
		double period = s->value / (double)s->n_samples;
		double expected = s->used / period;
		double missing = expected > (double)s->n_samples
				 ? expected - (double)s->n_samples : 0;
		r.n = least(r.n, missing);
		r.n_max = least(r.n_max, ceil(missing + 3 * sqrt(expected) + 1));
	}
	r.is_estimate = !s->only_target;
	return r;
}
