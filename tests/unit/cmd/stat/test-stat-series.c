/* Means and errors over runs, and scaling, of counts that a made-up counter gives. */
#include "cmd/stat/stat-series.h"

#include <math.h>
#include <stdlib.h>

#include "tap.h"

static struct cprof_counter_value next[2];

size_t cprof_counter_n_events(const struct cprof_counter *c)
{
	(void)c;
	return 2;
}

size_t cprof_counter_n_rows(const struct cprof_counter *c)
{
	(void)c;
	return 1;
}

size_t cprof_counter_n_cpus(const struct cprof_counter *c)
{
	(void)c;
	return 0;
}

void cprof_counter_event(const struct cprof_counter *c, size_t event,
			 struct cprof_counter_event *ret)
{
	(void)c;
	*ret = (struct cprof_counter_event){
		.name = event ? "cycles" : "task-clock", .is_clock = !event, .unit = "",
	};
}

void cprof_counter_row(const struct cprof_counter *c, size_t row, struct cprof_counter_row *ret)
{
	(void)c, (void)row;
	*ret = (struct cprof_counter_row){ 0 };
}

void cprof_counter_value(const struct cprof_counter *c, size_t row, size_t event,
			 struct cprof_counter_value *ret)
{
	(void)c, (void)row;
	*ret = next[event];
}

static void add(struct stat_series *s, uint64_t clock_ns, uint64_t cycles, uint64_t running_ns,
		uint64_t user_ns)
{
	const struct stat_run run = { .elapsed_ns = 100, .user_ns = user_ns };
	next[0] = (struct cprof_counter_value){ clock_ns, 100, 100 };
	next[1] = (struct cprof_counter_value){ cycles, 100, running_ns };
	tap_ok(stat_series_add(s, NULL, &run), "a run");
}

int main(void)
{
	struct stat_series s = { 0 };
	struct stat_sum sum;
	double v;
	add(&s, 100000000, 50, 50, 100000000);
	stat_series_sum(&s, 0, 1, &sum);
	tap_ok(sum.value.mean == 100 && sum.running == 0.5, "scaled to the whole time");
	tap_ok(sum.value.error == 0, "one run has no spread");
	add(&s, 100000000, 110, 100, 160000000);
	stat_series_sum(&s, 0, 1, &sum);
	tap_ok(sum.value.mean == 105 && fabs(sum.value.deviation - sqrt(50)) < 1e-9 &&
	       fabs(sum.value.error - 5) < 1e-9, "mean, deviation and error of two runs");
	tap_ok(sum.running == 0.75, "the part of the time over all runs");
	tap_ok(fabs(stat_series_uncounted(&s) - 3.0 / 13) < 1e-9, "CPU time that was not counted");
	add(&s, 100000000, 0, 0, 0);
	stat_series_sum(&s, 0, 1, &sum);
	tap_ok(sum.value.mean == 105 && sum.is_counted && sum.was_enabled,
	       "a run in which the event never ran is no zero");
	tap_ok(!stat_series_value(&s, 2, 0, 1, &v), "and has no value");
	tap_ok(stat_series_value(&s, 1, 0, 1, &v) && v == 110, "others have");
	tap_ok(stat_series_spread(&s, stat_run_elapsed_ns).mean == 100, "the mean of a time");
	stat_series_done(&s);
	return tap_done();
}
