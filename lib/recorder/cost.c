/*
 * Costs are CPU time: cprof's own by the kernel's clock of this process; the target's as the number
 * of its samples times the measured cost of one (live-cost.c).  The latter is an estimate: it
 * includes neither cold caches after a sample, nor the cost of context switches with events of
 * single threads.
 */

#include "recorder/cost.h"

#include "base/clock.h"
#include "base/log.h"
#include "recorder/recorder-private.h"

#include <linux/perf_event.h>
#include <time.h>

uint64_t cost_cpu_ns(void)
{
	return clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void cost_start(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->session.n_events; i++)
		ratecut_init(&r->event[i].adaptive, clock_monotonic_ns());
}

static int lower_rate(struct cprof_recorder *r, size_t i, enum ratecut_verdict why, struct err *e)
{
	const struct perf_event_attr *attr = source_attr(r->session.source, i);
	if (!attr)
		return 0;
	struct cprof_rate_cut cut = {
		.time_ns = clock_monotonic_ns() - r->window.start_ns,
		.is_freq = attr->freq,
		.from = attr->freq ? attr->sample_freq : attr->sample_period,
		.why = why == RATECUT_LOST ? "samples were lost" : "throttled by the kernel",
	};
	cut.to = ratecut_lower(cut.from, cut.is_freq);
	if (cut.to == cut.from)
		return 0;
	int code = source_set_rate(r->session.source, i, cut.to, e);
	if (code < 0)
		return code;
	log_line(r->session.log, LOG_NOTE, "event '%s': %s%llu instead of %llu%s: %s%s",
		 r->session.event[i].name, cut.is_freq ? "" : "a period of ",
		 (unsigned long long)cut.to, (unsigned long long)cut.from,
		 cut.is_freq ? " Hz" : "", cut.why,
		 attr->inherit ? "; but not in threads and children that have inherited it" : "");
	/* If memory is short, the change is only logged. */
	VEC_PUSH(&r->event[i].cuts, cut);
	return 0;
}

int cost_adapt(struct cprof_recorder *r, struct err *e)
{
	if (!r->config.adaptive || !r->window.is_open)
		return 0;
	for (size_t i = 0; i < r->session.n_events; i++) {
		const struct engine_event *ev = &r->engine.event[i];
		const struct ratecut_seen seen = {
			.n_samples = ev->n_samples + ev->n_foreign,
			.n_lost = ev->n_lost_records, .n_throttles = ev->n_throttles,
		};
		enum ratecut_verdict why = ratecut_judge(&r->event[i].adaptive, &seen,
							   clock_monotonic_ns());
		int code = why == RATECUT_KEEP ? 0 : lower_rate(r, i, why, e);
		if (code < 0)
			return code;
	}
	return 0;
}

void cost_stop(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->session.n_events; i++) {
		struct engine_event *ev = &r->engine.event[i];
		ev->throttled_ns += throttle_end_all(&r->engine.throttle, (uint32_t)i,
						     r->window.end_ns);
		r->event[i].sample_cost_ns =
			ev->n_samples && !r->session.event[i].is_member
				? source_sample_cost(r->session.source, i) : 0;
	}
}

void cost_stats(const struct cprof_recorder *r, struct cprof_stats *ret)
{
	ret->own_cpu_ns = cost_cpu_ns() - r->cpu_before_ns;
	ret->cost_known = false;
	ret->cost_ns = 0;
	for (size_t i = 0; i < r->session.n_events; i++) {
		const struct engine_event *ev = &r->engine.event[i];
		ret->cost_known |= r->event[i].sample_cost_ns != 0;
		ret->cost_ns += (ev->n_samples + ev->n_lost) * r->event[i].sample_cost_ns;
	}
}

void cost_event_stats(const struct cprof_recorder *r, size_t i, struct cprof_event_stats *ret)
{
	const struct recorder_event *re = &r->event[i];
	const struct engine_event *ev = &r->engine.event[i];
	ret->sample_cost_ns = re->sample_cost_ns;
	ret->throttled_ns = ev->throttled_ns;
	ret->n_lost_records = ev->n_lost_in_ring;
	ret->n_lost_by_pmu = ev->n_lost_records - ev->n_lost_in_ring;
	ret->n_lost_counted = re->count.has_lost ? re->count.n_lost : 0;
	ret->lost_counted_known = re->count.has_lost;
	ret->n_rate_cuts = re->cuts.n;
	const struct perf_event_attr *attr = source_attr(r->session.source, i);
	ret->precise = attr ? attr->precise_ip : 0;
	ret->precise_asked = r->session.event[i].precise_asked;
	ret->scale = 1;
	if (r->config.scale && ret->time_running_ns && ret->time_running_ns < ret->time_enabled_ns)
		ret->scale = (double)ret->time_enabled_ns / (double)ret->time_running_ns;
}

bool cprof_recorder_rate_cut(const struct cprof_recorder *r, size_t event, size_t i,
			     struct cprof_rate_cut *ret)
{
	/* The cuts of all the event's variants, one variant after the other. */
	for (size_t v = 0; v < r->session.n_events; v++) {
		if (r->session.event[v].output != event)
			continue;
		if (i < r->event[v].cuts.n) {
			*ret = r->event[v].cuts.v[i];
			return true;
		}
		i -= r->event[v].cuts.n;
	}
	return false;
}
