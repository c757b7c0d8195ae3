/*
 * A ratio compares two events of the same side only: instructions of user code and cycles of both
 * sides would give a number that means nothing.
 */
#include "cmd/stat/stat-figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* name / of; "*" stands for the same text in both. */
static const struct ratio {
	const char *name, *of, *key, *words;
	bool is_percent;
} ratios[] = {
	{ "instructions", "cycles", "instructions_per_cycle", "per cycle", false },
	{ "branch-misses", "branches", "miss_percent", "of all branches", true },
	{ "cache-misses", "cache-references", "miss_percent", "of all references", true },
	{ "stalled-cycles-frontend", "cycles", "cycle_percent", "of all cycles", true },
	{ "stalled-cycles-backend", "cycles", "cycle_percent", "of all cycles", true },
	{ "*-load-misses", "*-loads", "miss_percent", "of all loads", true },
	{ "*-store-misses", "*-stores", "miss_percent", "of all stores", true },
	{ "*-prefetch-misses", "*-prefetches", "miss_percent", "of all prefetches", true },
};

static bool is_named(const struct cprof_counter_event *ev, const char *name, size_t n)
{
	return ev->n_plain == n && strncmp(ev->name, name, n) == 0;
}

/* Writes the name of what the event is a part of; false: the row is for other events. */
static bool other_name(const struct ratio *r, const struct cprof_counter_event *ev, char *buf,
		       size_t n_bytes)
{
	size_t n_end = strlen(r->name) - 1, n_same = ev->n_plain - n_end;
	if (r->name[0] != '*') {
		snprintf(buf, n_bytes, "%s", r->of);
		return is_named(ev, r->name, strlen(r->name));
	}
	if (ev->n_plain <= n_end || strncmp(ev->name + n_same, r->name + 1, n_end) != 0)
		return false;
	snprintf(buf, n_bytes, "%.*s%s", (int)n_same, ev->name, r->of + 1);
	return true;
}

static bool is_same_side(const struct cprof_counter_event *a, const struct cprof_counter_event *b)
{
	return a->is_user == b->is_user && a->is_kernel == b->is_kernel;
}

static bool find_ratio(const struct stat_figure_input *in, size_t i, struct stat_figure *ret)
{
	char other[128];
	for (size_t k = 0; k < sizeof(ratios) / sizeof(*ratios); k++) {
		const struct ratio *r = &ratios[k];
		if (!other_name(r, &in->event[i], other, sizeof(other)))
			continue;
		for (size_t j = 0; j < in->n; j++) {
			if (!is_named(&in->event[j], other, strlen(other)) ||
			    !is_same_side(&in->event[i], &in->event[j]) || !(in->value[j] > 0))
				continue;
			*ret = (struct stat_figure){
				in->value[i] / in->value[j] * (r->is_percent ? 100 : 1), r->key,
				r->words, r->is_percent,
			};
			return true;
		}
	}
	return false;
}

/* The CPU time that was counted; NAN: no clock was. */
static double clock_ns(const struct stat_figure_input *in)
{
	for (size_t i = 0; i < in->n; i++)
		if (in->event[i].is_clock && in->value[i] > 0)
			return in->value[i];
	return NAN;
}

bool stat_figure_of(const struct stat_figure_input *in, size_t i, struct stat_figure *ret)
{
	const struct cprof_counter_event *ev = &in->event[i];
	double used_ns = clock_ns(in), value = in->value[i];
	if (isnan(value))
		return false;
	if (ev->is_clock) {
		*ret = (struct stat_figure){ value / in->elapsed_ns, "cpus", "CPUs used", false };
		return !in->whole_cpus && in->elapsed_ns > 0;
	}
	if (find_ratio(in, i, ret))
		return true;
	/* Cycles per nanosecond.  Those of one side do not show the frequency. */
	if (is_named(ev, "cycles", 6) && !isnan(used_ns) && !ev->is_user && !ev->is_kernel) {
		*ret = (struct stat_figure){ value / used_ns, "gigahertz", "GHz", false };
		return true;
	}
	double per_ns = in->whole_cpus || isnan(used_ns) ? in->elapsed_ns : used_ns;
	bool of_time = per_ns == in->elapsed_ns && (in->whole_cpus || isnan(used_ns));
	*ret = (struct stat_figure){
		value * (ev->scale ? ev->scale : 1) / per_ns * 1e9,
		of_time ? "per_second" : "per_cpu_second",
		of_time ? "per second" : "per second of CPU time", false,
	};
	return per_ns > 0;
}
