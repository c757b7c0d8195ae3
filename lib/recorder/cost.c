/*
 * The cost is CPU time: the number of the target's samples times the measured cost of one
 * (live-cost.c).  It is an estimate, which includes neither cold caches after a sample, nor the
 * cost of context switches with events of single threads.
 */

#include "recorder/cost.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/engine.h"
#include "recorder/kind.h"
#include "recorder/window.h"
#include "source/source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

int cost_init(struct cost *c, const struct kind_session *k, const struct window *w,
	      struct engine_event *seen, struct throttle *throttle)
{
	*c = (struct cost){ .session = k, .window = w, .seen = seen, .throttle = throttle };
	c->event = calloc(k->n_events, sizeof(*c->event));
	return c->event ? 0 : -ENOMEM;
}

void cost_done(struct cost *c)
{
	for (size_t i = 0; c->event && i < c->session->n_events; i++)
		VEC_FREE(&c->event[i].cuts);
	free(c->event);
	*c = (struct cost){ 0 };
}

void cost_start(struct cost *c)
{
	uint64_t now = clock_monotonic_ns();
	for (size_t i = 0; i < c->session->n_events; i++)
		ratecut_init(&c->event[i].adaptive, now);
}

static int lower_rate(struct cost *c, size_t i, enum ratecut_verdict why, struct err *e)
{
	const struct kind_session *k = c->session;
	const struct perf_event_attr *attr = source_attr(k->source, i);
	if (!attr)
		return 0;
	struct cprof_rate_cut cut = {
		.time_ns = clock_monotonic_ns() - c->window->start_ns,
		.is_freq = attr->freq,
		.from = attr->freq ? attr->sample_freq : attr->sample_period,
		.why = why == RATECUT_LOST ? "samples were lost" : "throttled by the kernel",
	};
	cut.to = ratecut_lower(cut.from, cut.is_freq);
	if (cut.to == cut.from)
		return 0;
	int r = source_set_rate(k->source, i, cut.to, e);
	if (r < 0)
		return r;
	log_line(k->log, LOG_NOTE, "event '%s': %s%llu instead of %llu%s: %s%s",
		 k->event[i].name, cut.is_freq ? "" : "a period of ",
		 (unsigned long long)cut.to, (unsigned long long)cut.from,
		 cut.is_freq ? " Hz" : "", cut.why,
		 attr->inherit ? "; but not in threads and children that have inherited it" : "");
	/* If memory is short, the change is only logged. */
	VEC_PUSH(&c->event[i].cuts, cut);
	return 0;
}

static uint64_t n_records_lost(const struct cost *c)
{
	uint64_t n = 0;
	for (size_t i = 0; i < c->session->n_events; i++)
		n += c->seen[i].n_lost_records;
	return n;
}

/* Events that share a ring share the records of its losses.  The kernel's counts since Linux 6.0
 * know whose they were, but to read them interrupts CPUs. */
static void count_lost(struct cost *c)
{
	uint64_t n = n_records_lost(c);
	if (n == c->n_records_lost)
		return;
	c->n_records_lost = n;
	for (size_t i = 0; i < c->session->n_events; i++) {
		struct source_count count;
		source_count(c->session->source, i, &count);
		c->event[i].n_lost = count.has_lost ? count.n_lost : c->seen[i].n_lost_records;
	}
}

int cost_adapt(struct cost *c, struct err *e)
{
	uint64_t now = clock_monotonic_ns();
	if (!c->session->config->adaptive || !c->window->is_open ||
	    !ratecut_is_due(&c->event[0].adaptive, now))
		return 0;
	count_lost(c);
	for (size_t i = 0; i < c->session->n_events; i++) {
		const struct engine_event *ev = &c->seen[i];
		const struct ratecut_seen seen = {
			.n_samples = ev->n_samples + ev->n_foreign,
			.n_lost = c->event[i].n_lost, .n_throttles = ev->n_throttles,
		};
		enum ratecut_verdict why = ratecut_judge(&c->event[i].adaptive, &seen, now);
		int r = why == RATECUT_KEEP ? 0 : lower_rate(c, i, why, e);
		if (r < 0)
			return r;
	}
	return 0;
}

void cost_clear(struct cost *c)
{
	for (size_t i = 0; i < c->session->n_events; i++)
		c->event[i].cuts.n = 0;
}

/* Samples of the event itself: what waits count is not its own. */
static uint64_t n_sampled(const struct cost *c, size_t i)
{
	const struct engine_event *ev = &c->seen[i];
	return c->session->event[i].waits ? ev->n_placed : ev->n_samples + ev->n_lost;
}

void cost_stop(struct cost *c)
{
	const struct kind_session *k = c->session;
	for (size_t i = 0; i < k->n_events; i++) {
		struct engine_event *ev = &c->seen[i];
		ev->throttled_ns += throttle_end_all(c->throttle, (uint32_t)i, c->window->end_ns);
		c->event[i].sample_cost_ns = n_sampled(c, i) && !k->event[i].is_member
						     ? source_sample_cost(k->source, i) : 0;
	}
}

void cost_stats(const struct cost *c, struct cprof_stats *ret)
{
	ret->cost_known = false;
	ret->cost_ns = 0;
	for (size_t i = 0; i < c->session->n_events; i++) {
		ret->cost_known |= c->event[i].sample_cost_ns != 0;
		ret->cost_ns += n_sampled(c, i) * c->event[i].sample_cost_ns;
	}
}

void cost_event_stats(const struct cost *c, size_t i, struct cprof_event_stats *ret)
{
	ret->sample_cost_ns = c->event[i].sample_cost_ns;
	ret->n_rate_cuts = c->event[i].cuts.n;
}
