/* One JSON object: what was counted, the times, and the events with their counts and figures. */
#include "cmd/stat/stat-output.h"

#include "cmd/printable.h"
#include "cmd/stat/stat-lines.h"
#include "cmd/stat/stat-opts.h"

#include <inttypes.h>
#include <math.h>

static void json_number(FILE *to, const char *key, double v)
{
	if (v == floor(v) && fabs(v) < 9e15)
		fprintf(to, ", \"%s\": %.0f", key, v);
	else
		fprintf(to, ", \"%s\": %.9g", key, v);
}

static void json_spread(FILE *to, const struct stat_series *s, const char *prefix,
			const struct stat_spread *v)
{
	char key[64];
	json_number(to, prefix, v->mean);
	if (s->runs.n < 2)
		return;
	snprintf(key, sizeof(key), "%s_standard_error", prefix);
	json_number(to, key, v->error);
	snprintf(key, sizeof(key), "%s_deviation", prefix);
	json_number(to, key, v->deviation);
}

static void json_runs(FILE *to, const struct stat_series *s, size_t row, size_t i)
{
	double v;
	fputs(", \"runs\": [", to);
	for (size_t run = 0; run < s->runs.n; run++) {
		fputs(run ? ", " : "", to);
		if (stat_series_value(s, run, row, i, &v))
			fprintf(to, "%.0f", v);
		else
			fputs("null", to);
	}
	fputc(']', to);
}

static void json_event(FILE *to, const struct stat_series *s, const struct stat_lines *l,
		       size_t row, size_t i, const struct stat_opts *o)
{
	const struct cprof_counter_event *ev = &s->event[i];
	const struct stat_sum *sum = &l->sum[i];
	const char *why = stat_lines_why_not(l, i, o);
	struct stat_figure f;
	fputs("{\"name\": ", to);
	printable_json(to, ev->name);
	fputs(", \"unit\": ", to);
	printable_json(to, ev->is_clock ? "nanoseconds" : ev->scale ? ev->unit : "count");
	fprintf(to, ", \"state\": \"%s\", \"user_only\": %s, \"group\": %" PRIu32,
		why ? stat_lines_state(l, i) : "counted",
		ev->is_user ? "true" : "false", ev->group);
	if (why) {
		fputs(", \"why\": ", to);
		printable_json(to, why);
		fputc('}', to);
		return;
	}
	double scale = ev->scale ? ev->scale : 1;
	struct stat_spread v = sum->value;
	v = (struct stat_spread){ v.mean * scale, v.deviation * scale, v.error * scale };
	json_spread(to, s, "value", &v);
	json_number(to, "counted_percent", 100 * sum->running);
	if (s->runs.n == 1) {
		const struct cprof_counter_value *raw = &s->values.v[row * s->n_events + i];
		fprintf(to, ", \"count\": %" PRIu64 ", \"enabled_ns\": %" PRIu64
			", \"running_ns\": %" PRIu64, raw->value, raw->enabled_ns, raw->running_ns);
	} else {
		json_runs(to, s, row, i);
	}
	if (stat_figure_of(&l->in, i, &f))
		json_number(to, f.key, f.value);
	fputc('}', to);
}

static void json_row(FILE *to, const struct stat_series *s, size_t row, const struct stat_opts *o)
{
	struct stat_lines l = { NULL };
	bool ok = stat_lines_make(&l, s, row, o);
	fputs("\"events\": [", to);
	for (size_t i = 0; i < s->n_events && ok; i++) {
		fputs(i ? ",\n  " : "\n  ", to);
		json_event(to, s, &l, row, i, o);
	}
	fputs("]", to);
	stat_lines_done(&l);
}

void stat_output_json(FILE *to, const struct stat_series *s, const struct stat_opts *o)
{
	struct stat_spread elapsed = stat_series_spread(s, stat_run_elapsed_ns);
	fputs("{\"command\": [", to);
	for (size_t i = 0; o->tasks.command && o->tasks.command[i]; i++) {
		fputs(i ? ", " : "", to);
		printable_json(to, o->tasks.command[i]);
	}
	fprintf(to, "], \"runs\": %zu", s->runs.n);
	json_spread(to, s, "elapsed_ns", &elapsed);
	if (taskopts_is_command(&o->tasks)) {
		struct stat_spread user = stat_series_spread(s, stat_run_user_ns);
		struct stat_spread system = stat_series_spread(s, stat_run_system_ns);
		json_spread(to, s, "user_ns", &user);
		json_spread(to, s, "system_ns", &system);
		json_number(to, "uncounted_percent", 100 * stat_series_uncounted(s));
	}
	if (s->n_cpus) {
		struct stat_spread busy = stat_series_spread(s, stat_run_busy_ns);
		json_spread(to, s, "busy_ns", &busy);
		fprintf(to, ", \"cpus\": %zu", s->n_cpus);
	}
	fputs(",\n ", to);
	if (!o->config.per_thread)
		json_row(to, s, 0, o);
	else
		fputs("\"threads\": [", to);
	for (size_t row = 0; o->config.per_thread && row < s->n_rows; row++) {
		fprintf(to, "%s\n {\"pid\": %d, \"tid\": %d, \"name\": ", row ? "," : "",
			(int)s->row[row].pid, (int)s->row[row].tid);
		printable_json(to, s->row[row].name);
		fputs(",\n  ", to);
		json_row(to, s, row, o);
		fputc('}', to);
	}
	fputs(o->config.per_thread ? "]}\n" : "}\n", to);
}
