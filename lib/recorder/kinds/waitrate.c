/*
 * A record of a switch costs about a microsecond, and a sample with its stack some ten.  Above the
 * limit L the number of samples per second therefore falls from L to L / 10, while the number of
 * switches R rises: the period is (R / L)^2, and 10 R / L from 10 L on.  So the samples cost less
 * than a tenth of what the switches themselves do, however many there are.
 *
 * Periods are prime, so that a thread which waits in turn at a few places is sampled at all of
 * them.
 */

#include "recorder/kinds/waitrate.h"

#include <stddef.h>

/* Long enough for a rate, and short enough that rings do not overflow before the first decision. */
#define MEASURE_NS 20000000u
#define SAMPLES_ENOUGH 400u
#define MEASURE_NS_MIN 1000000u

#define HOLD_NS_MIN 500000000u
#define HOLD_PART 50u

#define FALL 10u
#define TOLERANCE 1.2

static const uint32_t prime[] = {
	1, 2, 3, 5, 7, 11, 17, 29, 47, 79, 127, 211, 347, 563, 911, 1481, 2399, 3889, 6301, 10007,
};
#define N_PRIMES (sizeof(prime) / sizeof(*prime))

void waitrate_init(struct waitrate *r, uint64_t limit_hz)
{
	*r = (struct waitrate){ .limit_hz = limit_hz, .period = 1, .period_max = 1,
				.hold_ns = HOLD_NS_MIN };
}

uint64_t waitrate_period(const struct waitrate *r, uint64_t n, uint64_t ns)
{
	double over = (double)n * 1e9 / ((double)ns * (double)r->limit_hz);
	double want = over < FALL ? over * over : over * FALL;
	size_t i = 0;
	if (over <= TOLERANCE)
		return 1;
	while (i + 1 < N_PRIMES && (double)prime[i] < want)
		i++;
	return prime[i];
}

static void measure_from(struct waitrate *r, uint64_t n_samples, uint64_t now_ns)
{
	r->since_ns = now_ns;
	r->last_n = n_samples;
}

bool waitrate_step(struct waitrate *r, uint64_t n_samples, uint64_t now_ns, uint64_t *ret_period)
{
	if (!r->since_ns || n_samples < r->last_n) {
		measure_from(r, n_samples, now_ns);
		return false;
	}
	uint64_t n = n_samples - r->last_n, ns = now_ns - r->since_ns;
	if (ns < MEASURE_NS && (n < SAMPLES_ENOUGH || ns < MEASURE_NS_MIN))
		return false;
	uint64_t period = waitrate_period(r, n * r->period, ns);
	measure_from(r, n_samples, now_ns);
	*ret_period = period;
	if (period > r->period) {
		r->low_since_ns = 0;
		return true;
	}
	/* A step down waits until it is sure. */
	if (period >= r->period || (period > 1 && period * 2 > r->period)) {
		r->low_since_ns = 0;
		return false;
	}
	if (!r->low_since_ns)
		r->low_since_ns = now_ns;
	return now_ns - r->low_since_ns >= r->hold_ns;
}

void waitrate_changed(struct waitrate *r, uint64_t period, uint64_t took_ns)
{
	r->period = period;
	if (period > r->period_max)
		r->period_max = period;
	r->low_since_ns = 0;
	r->since_ns = 0;  /* the rings still have samples of the previous period */
	r->hold_ns = took_ns * HOLD_PART > HOLD_NS_MIN ? took_ns * HOLD_PART : HOLD_NS_MIN;
}
