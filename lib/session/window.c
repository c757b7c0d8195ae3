/*
 * Parts of a recording: pauses, what was recorded so far, and beginning anew.  None of these
 * touches what is known of processes and their code, which goes on being told.
 */

#include "session/window.h"

#include "base/err.h"
#include "session/accounts.h"
#include "session/comments.h"
#include "session/recorder-private.h"

#include <errno.h>
#include <time.h>

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t window_now_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

void window_begin(struct cprof_recorder *r)
{
	r->start_realtime_ns = (int64_t)now_ns(CLOCK_REALTIME);
	r->start_ns = now_ns(CLOCK_MONOTONIC);
	r->resumed_ns = r->start_ns;
	r->active_ns = 0;
	coverage_start(&r->coverage);
	for (size_t i = 0; i < r->events.n; i++)
		live_read(r->source, i, &r->event[i].base);
	accounts_start(r);
	r->window_open = true;
}

static void begin_times(struct cprof_recorder *r)
{
	r->start_realtime_ns = (int64_t)now_ns(CLOCK_REALTIME);
	r->start_ns = r->resumed_ns = now_ns(CLOCK_MONOTONIC);
	r->active_ns = 0;
}

void window_restart(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->events.n; i++)
		live_read(r->source, i, &r->event[i].base);
	begin_times(r);
}

uint64_t window_duration_ns(const struct cprof_recorder *r)
{
	if (!r->window_open)
		return 0;  /* the delay is not over */
	uint64_t now = r->stopped ? r->end_ns : now_ns(CLOCK_MONOTONIC);
	return r->active_ns + (r->paused ? 0 : now - r->resumed_ns);
}

void window_event_stats(struct cprof_recorder *r, size_t i, struct cprof_event_stats *ret)
{
	struct recorder_event *re = &r->event[i];
	const struct evspec *s = &r->events.v[i];
	const struct engine_event *ev = &r->engine.event[i];
	const struct perf_event_attr *attr = live_attr(r->source, i);
	bool cpu_wide = r->scope == LIVE_CPU;
	*ret = (struct cprof_event_stats){
		.name = s->name, .file_part = re->file_part, .sample_type = re->sample_type,
		.unit = re->unit, .is_clock = s->is_clock, .group = s->group,
		.count_scale = s->scale, .count_unit = s->unit,
		.given_up_kernel = attr->exclude_kernel && !s->only_user && !r->config.only_user,
		.freq_hz = attr->freq ? re->rate : 0, .period = attr->freq ? 0 : re->rate,
		.n_samples = ev->n_samples, .value = ev->value, .n_lost = re->n_lost,
		.n_lost_shown = ev->n_lost,
		.n_throttles = ev->n_throttles,
		.counted = re->count.value, .counted_target = !cpu_wide,
		.time_enabled_ns = re->count.time_enabled_ns,
		.time_running_ns = re->count.time_running_ns,
	};
	accounts_event_stats(r, i, ret);
}

/*
 * What the kernel could not deliver.  Its counter per event is exact; the records in the ring say
 * the same on kernels without it.  Samples that were lost of a CPU's event may have been
 * other tasks': they are shared out as the delivered ones are.
 */
static void add_lost(struct cprof_recorder *r, size_t i)
{
	struct recorder_event *re = &r->event[i];
	const struct engine_event *ev = &r->engine.event[i];
	uint64_t n = re->count.has_lost ? re->count.n_lost : ev->n_lost_records;
	re->n_lost = n;
	uint64_t seen = ev->n_samples + ev->n_foreign;
	if (seen)
		n = (uint64_t)((double)n * (double)ev->n_samples / (double)seen + 0.5);
	uint64_t period = ev->n_samples ? ev->value / ev->n_samples : 0;
	/* More than what the kernel accounted to the target cannot be missing: the rest was
	 * other tasks' samples, or records of another kind. */
	struct cprof_stats stats;
	struct cprof_event_stats own;
	cprof_recorder_stats(r, &stats);
	window_event_stats(r, i, &own);
	double percent = comments_coverage_percent(&r->config, &stats, &own);
	if (percent > 0 && period) {
		double missing = percent < 100 ? (double)ev->value * (100 / percent - 1) : 0;
		n = missing < (double)n * (double)period ? (uint64_t)(missing / (double)period) : n;
	}
	/* What a lost sample would have stood for is in the next one's weight. */
	if (r->by_count >> i & 1)
		period = 0;
	/* A snapshot before has shown the first of them. */
	if (n > ev->n_lost)
		engine_add_lost(&r->engine, (uint32_t)i, n - ev->n_lost, (n - ev->n_lost) * period);
}

void window_count(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->events.n; i++) {
		struct live_count *c = &r->event[i].count;
		const struct live_count *base = &r->event[i].base;
		live_read(r->source, i, c);
		c->value -= base->value;
		c->time_enabled_ns -= base->time_enabled_ns;
		c->time_running_ns -= base->time_running_ns;
		c->n_lost -= base->n_lost;
		add_lost(r, i);
	}
}

static int check_running(const struct cprof_recorder *r, struct err *e)
{
	int code = recorder_check_owner(r, e);
	if (code < 0)
		return code;
	if (!r->started)
		return err_set(e, EINVAL, "the recorder is not started");
	if (r->stopped)
		return err_set(e, EINVAL, "the recorder is stopped");
	return 0;
}

/* For an event of the user's, or all: the events that were opened for it. */
static int each_variant(struct cprof_recorder *r, size_t event,
			int (*change)(struct source *s, size_t event, struct err *e), struct err *e)
{
	int code = check_running(r, e);
	if (code == 0 && !r->config.pausable)
		return err_set(e, EINVAL, "the recorder was not made to be paused");
	if (code == 0 && event == CPROF_ALL_EVENTS)
		return change(r->source, LIVE_ALL_EVENTS, e);
	if (code == 0 && event >= r->events.n_outputs)
		return err_set(e, EINVAL, "there is no such event");
	for (size_t i = 0; i < r->events.n && code == 0; i++)
		if (r->events.v[i].output == event)
			code = change(r->source, i, e);
	return code;
}

int cprof_recorder_pause(struct cprof_recorder *r, size_t event, struct err *e)
{
	int code = each_variant(r, event, live_pause, e);
	if (code == 0 && event == CPROF_ALL_EVENTS && !r->paused) {
		if (r->window_open)
			r->active_ns += now_ns(CLOCK_MONOTONIC) - r->resumed_ns;
		r->paused = true;
	}
	r->is_partial |= code == 0;
	return code;
}

int cprof_recorder_resume(struct cprof_recorder *r, size_t event, struct err *e)
{
	int code = each_variant(r, event, live_resume, e);
	if (code == 0 && r->paused) {
		r->resumed_ns = now_ns(CLOCK_MONOTONIC);
		r->paused = false;
	}
	return code;
}

int cprof_recorder_snapshot(struct cprof_recorder *r, struct err *e)
{
	int code = check_running(r, e);
	if (code == 0)
		code = cprof_recorder_step(r, 0, NULL, 0, NULL, e);
	if (code < 0)
		return code;
	code = slices_gather(r, e);
	if (code < 0)
		return code;
	coverage_stop(&r->coverage, &r->engine.procs);
	r->counted = true;
	window_count(r);
	r->names_ready = false;  /* those that are known stay */
	return 0;
}

int cprof_recorder_clear(struct cprof_recorder *r, struct err *e)
{
	int code = check_running(r, e);
	if (code < 0)
		return code;
	/* What all slices counted is no base for the next. */
	bool is_count = r->counted && !r->slices.slice_ns;
	slices_scatter(r);
	slices_clear(r);
	if (!is_count)
		window_count(r);
	r->names_ready = false;
	code = engine_clear(&r->engine, e);
	for (size_t i = 0; i < r->events.n; i++) {
		struct recorder_event *re = &r->event[i];
		re->base.value += re->count.value;
		re->base.time_enabled_ns += re->count.time_enabled_ns;
		re->base.time_running_ns += re->count.time_running_ns;
		re->base.n_lost += re->count.n_lost;
		re->n_lost = 0;
		re->cuts.n = 0;
	}
	begin_times(r);
	r->counted = false;
	/* The kernel's accounts of a child go back to its birth. */
	r->is_partial = true;
	return code;
}
