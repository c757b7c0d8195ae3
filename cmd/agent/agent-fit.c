/*
 * Compressed bytes are proportional to the samples that are written, except what each
 * profile needs for itself: mappings, the names of the kernel's entry code, and its .meta file.
 */
#include "cmd/agent/agent-fit.h"

#include <math.h>
#include <stdlib.h>

/* Of two CPUs at 19 Hz in windows of 10 s, which have at most 380 samples. */
#define LIMIT_BYTES 40000u
#define LIMIT_SAMPLES 500.0

#define PROFILE_BYTES 1000.0
/* So much of a window may be what profiles need for themselves. */
#define FIXED_SHARE 0.5
#define KEEP_MIN (1.0 / 64)            /* with services */
#define KEEP_LEAST (1.0 / 4096)        /* with a profile of all */
/* The share of the limit that is aimed at, so that the next window probably fits at once. */
#define AIM 0.93
/* With all addresses and mangled names a window has about twice the size. */
#define FUNCTIONS_SHARE 0.5

void agent_fit_init(struct agent_fit *f, const struct agent_config *c)
{
	*f = (struct agent_fit){ .keep = 1, .services_max = c->services_max };
}

/* More samples have more different stacks, but not proportionally more. */
uint64_t agent_fit_limit(const struct agent_config *c, unsigned n_cpus)
{
	double samples = strtod(c->rate, NULL) * n_cpus * (double)c->window_ns / 1e9;
	if (c->window_bytes)
		return c->window_bytes;
	return samples <= LIMIT_SAMPLES ? LIMIT_BYTES
		: (uint64_t)(LIMIT_BYTES * sqrt(samples / LIMIT_SAMPLES));
}

/* The factor for the samples with which a window would be as large as what is aimed at. */
static double factor_of(uint64_t bytes, unsigned n_profiles, uint64_t limit)
{
	double fixed = PROFILE_BYTES * n_profiles, room = AIM * (double)limit - fixed;
	double samples = (double)bytes - fixed;
	return room <= 0 ? 0 : samples <= 0 ? 1 : room / samples;
}

bool agent_fit_shrink(struct agent_fit *f, uint64_t bytes, unsigned n_profiles, uint64_t limit)
{
	double keep = f->keep * factor_of(bytes, n_profiles, limit);
	bool is_fixed = PROFILE_BYTES * n_profiles > FIXED_SHARE * (double)limit;
	if (!f->only_functions)
		f->only_functions = true;
	else if (f->services_max > 0 && (is_fixed || keep < KEEP_MIN))
		f->services_max = (f->services_max < n_profiles ? f->services_max : n_profiles) / 2;
	else if (f->keep <= KEEP_LEAST)
		return false;
	else
		f->keep = keep < KEEP_LEAST ? KEEP_LEAST
			: keep < f->keep * 0.95 ? keep : f->keep * 0.95;
	return true;
}

void agent_fit_relax(struct agent_fit *f, const struct agent_config *c, uint64_t bytes,
		     unsigned n_profiles, uint64_t limit)
{
	double factor = factor_of(bytes, n_profiles, limit);
	if (factor <= 1)
		return;
	double fixed = 2 * PROFILE_BYTES * n_profiles;
	if (f->services_max < c->services_max && fixed < FIXED_SHARE * (double)limit) {
		f->services_max = f->services_max * 2 + 1;
		if (f->services_max > c->services_max)
			f->services_max = c->services_max;
	}
	f->keep = f->keep * factor < 1 ? f->keep * factor : 1;
	if (f->keep == 1 && factor > 1 / FUNCTIONS_SHARE)
		f->only_functions = false;
}
