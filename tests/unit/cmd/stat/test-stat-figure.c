/* What is derived from which counts. */
#include "cmd/stat/stat-figure.h"

#include <math.h>

#include "tap.h"

#define EVENT(text, ...) { .name = text, .n_plain = sizeof(text) - 1, __VA_ARGS__ }

static const struct cprof_counter_event event[] = {
	EVENT("task-clock", .is_clock = true),
	EVENT("cycles"),
	EVENT("instructions"),
	EVENT("L1-dcache-loads"),
	EVENT("L1-dcache-load-misses"),
	EVENT("branches"),
	{ .name = "branch-misses:u", .n_plain = 13, .is_user = true },
	EVENT("energy", .scale = 0.5),
	EVENT("page-faults"),
};
#define N (sizeof(event) / sizeof(*event))

/* 2 s of CPU time in 4 s. */
static const double value[N] = { 2e9, 6e9, 9e9, 1000, 50, 400, 4, 10, NAN };

static void check(const struct stat_figure_input *in, size_t i, double want, const char *words,
		  const char *what)
{
	struct stat_figure f = { 0 };
	bool has = stat_figure_of(in, i, &f);
	tap_ok(has && fabs(f.value - want) < 1e-9 && strcmp(f.words, words) == 0, "%s: %g %s", what,
	       f.value, has ? f.words : "none");
}

int main(void)
{
	struct stat_figure_input in = { event, value, N, 4e9, false };
	struct stat_figure f;
	check(&in, 0, 0.5, "CPUs used", "a clock");
	check(&in, 1, 3, "GHz", "cycles");
	check(&in, 2, 1.5, "per cycle", "instructions");
	check(&in, 4, 5, "of all loads", "misses of a cache");
	check(&in, 6, 2, "per second of CPU time", "another side than branches: no ratio");
	check(&in, 5, 200, "per second of CPU time", "a rate");
	check(&in, 7, 2.5, "per second of CPU time", "a rate in units");
	tap_ok(!stat_figure_of(&in, 8, &f), "nothing of what was not counted");
	in.whole_cpus = true;
	check(&in, 5, 100, "per second", "of whole CPUs: per second of time");
	tap_ok(!stat_figure_of(&in, 0, &f), "of whole CPUs a clock says nothing");
	in = (struct stat_figure_input){ event + 1, value + 1, 1, 4e9, false };
	check(&in, 0, 1.5e9, "per second", "cycles without a clock");
	return tap_done();
}
