#include "cmd/stat/stat-lines.h"

#include "cmd/stat/stat-opts.h"

#include <math.h>
#include <stdlib.h>

bool stat_lines_make(struct stat_lines *l, const struct stat_series *s, size_t row,
		     const struct stat_opts *o)
{
	l->sum = calloc(s->n_events, sizeof(*l->sum));
	l->value = calloc(s->n_events, sizeof(*l->value));
	if (!l->sum || !l->value)
		return false;
	for (size_t i = 0; i < s->n_events; i++) {
		stat_series_sum(s, row, i, &l->sum[i]);
		l->value[i] = l->sum[i].is_counted ? l->sum[i].value.mean : NAN;
	}
	l->in = (struct stat_figure_input){
		.event = s->event, .value = l->value, .n = s->n_events,
		.elapsed_ns = stat_series_spread(s, stat_run_elapsed_ns).mean,
		.whole_cpus = o->config.all_processes && !o->config.per_thread,
	};
	return true;
}

void stat_lines_done(struct stat_lines *l)
{
	free(l->sum);
	free(l->value);
}

const char *stat_lines_why_not(const struct stat_lines *l, size_t i, const struct stat_opts *o)
{
	if (l->in.event[i].why_not)
		return l->in.event[i].why_not;
	if (l->sum[i].is_counted)
		return NULL;
	if (l->sum[i].was_enabled)
		return "its hardware counter was never free";
	return taskopts_is_command(&o->tasks) ?
	       "the kernel removed the event when the command was executed" :
	       "the target did not run";
}

const char *stat_lines_state(const struct stat_lines *l, size_t i)
{
	const struct cprof_counter_event *ev = &l->in.event[i];
	return ev->is_denied ? "not allowed" : ev->why_not ? "not supported" : "not counted";
}
