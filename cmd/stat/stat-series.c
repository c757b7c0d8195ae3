#include "cmd/stat/stat-series.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The part of the CPU time, and the time per run, from which on a lack is reported. */
#define UNCOUNTED_PART 0.1
#define UNCOUNTED_NS 20e6

/* Events and rows of the first run. */
static bool begin(struct stat_series *s, const struct cprof_counter *c)
{
	s->n_cpus = cprof_counter_n_cpus(c);
	s->event = calloc(cprof_counter_n_events(c), sizeof(*s->event));
	s->row = calloc(cprof_counter_n_rows(c), sizeof(*s->row));
	if (!s->event || !s->row)
		return false;
	for (size_t i = 0; i < cprof_counter_n_events(c); i++) {
		struct cprof_counter_event *ev = &s->event[i];
		cprof_counter_event(c, i, ev);
		ev->name = strdup(ev->name);
		ev->unit = strdup(ev->unit);
		s->n_events++;
		if (!ev->name || !ev->unit)
			return false;
	}
	s->n_rows = cprof_counter_n_rows(c);
	for (size_t i = 0; i < s->n_rows; i++)
		cprof_counter_row(c, i, &s->row[i]);
	return true;
}

bool stat_series_add(struct stat_series *s, const struct cprof_counter *c,
		     const struct stat_run *run)
{
	if (!s->event && !begin(s, c))
		return false;
	if (!VEC_RESERVE(&s->values, s->n_rows * s->n_events) || !VEC_PUSH(&s->runs, *run))
		return false;
	for (size_t row = 0; row < s->n_rows; row++)
		for (size_t i = 0; i < s->n_events; i++)
			cprof_counter_value(c, row, i, &s->values.v[s->values.n++]);
	return true;
}

void stat_series_done(struct stat_series *s)
{
	for (size_t i = 0; i < s->n_events; i++) {
		free((char *)s->event[i].name);
		free((char *)s->event[i].unit);
	}
	free(s->event);
	free(s->row);
	VEC_FREE(&s->runs);
	VEC_FREE(&s->values);
}

static const struct cprof_counter_value *value_at(const struct stat_series *s, size_t run,
						  size_t row, size_t event)
{
	return &s->values.v[(run * s->n_rows + row) * s->n_events + event];
}

bool stat_series_value(const struct stat_series *s, size_t run, size_t row, size_t event,
		       double *ret)
{
	const struct cprof_counter_value *v = value_at(s, run, row, event);
	if (!v->running_ns)
		return false;
	*ret = (double)v->value;
	if (v->running_ns < v->enabled_ns)
		*ret *= (double)v->enabled_ns / (double)v->running_ns;
	return true;
}

static struct stat_spread spread_of(const double *v, size_t n)
{
	struct stat_spread s = { 0 };
	double squares = 0;
	for (size_t i = 0; i < n; i++)
		s.mean += v[i] / (double)n;
	for (size_t i = 0; i < n; i++)
		squares += (v[i] - s.mean) * (v[i] - s.mean);
	s.deviation = n > 1 ? sqrt(squares / (double)(n - 1)) : 0;
	s.error = n ? s.deviation / sqrt((double)n) : 0;
	return s;
}

void stat_series_sum(const struct stat_series *s, size_t row, size_t event, struct stat_sum *ret)
{
	double enabled = 0, running = 0;
	VEC(double) values = { 0 };
	*ret = (struct stat_sum){ .running = 1 };
	if (!VEC_RESERVE(&values, s->runs.n))
		return;
	for (size_t run = 0; run < s->runs.n; run++) {
		const struct cprof_counter_value *v = value_at(s, run, row, event);
		enabled += (double)v->enabled_ns;
		running += (double)v->running_ns;
		values.n += stat_series_value(s, run, row, event, &values.v[values.n]);
	}
	ret->value = spread_of(values.v, values.n);
	ret->is_counted = values.n;
	ret->was_enabled = enabled > 0;
	if (enabled > running)
		ret->running = running / enabled;
	VEC_FREE(&values);
}

struct stat_spread stat_series_spread(const struct stat_series *s,
				      uint64_t (*of)(const struct stat_run *run))
{
	struct stat_spread result = { 0 };
	double *values = calloc(s->runs.n + 1, sizeof(*values));
	if (!values)
		return result;
	for (size_t i = 0; i < s->runs.n; i++)
		values[i] = (double)of(&s->runs.v[i]);
	result = spread_of(values, s->runs.n);
	free(values);
	return result;
}

uint64_t stat_run_elapsed_ns(const struct stat_run *run)
{
	return run->elapsed_ns;
}

uint64_t stat_run_user_ns(const struct stat_run *run)
{
	return run->user_ns;
}

uint64_t stat_run_system_ns(const struct stat_run *run)
{
	return run->system_ns;
}

uint64_t stat_run_busy_ns(const struct stat_run *run)
{
	return run->busy_ns;
}

double stat_series_uncounted(const struct stat_series *s)
{
	double used = stat_series_spread(s, stat_run_user_ns).mean +
		      stat_series_spread(s, stat_run_system_ns).mean;
	for (size_t i = 0; i < s->n_events; i++) {
		struct stat_sum sum;
		if (!s->event[i].is_clock || s->n_rows != 1)
			continue;
		stat_series_sum(s, 0, i, &sum);
		double lack = used - sum.value.mean;
		return lack > UNCOUNTED_NS && lack > used * UNCOUNTED_PART ? lack / used : 0;
	}
	return 0;
}
