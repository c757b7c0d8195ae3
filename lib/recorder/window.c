/*
 * Parts of a recording: pauses, snapshots, and starting a new profile.  None of these changes what
 * is known about processes and their code, which continues to be recorded.
 *
 * Disabling an event of another CPU takes an interrupt there: some microseconds each, up to ten in
 * a virtual machine with idle CPUs.  So with events of whole CPUs a pause leaves them on if the
 * previous pause was shorter than SHORT_NS.  Samples of the pause are recognised by their time
 * (pausegaps.c), so the window is just as exact.  Counters go on counting then: their time is
 * corrected exactly, their value by the sum of the samples that were ignored.  A pause that becomes
 * longer is made a real one at the next cprof_recorder_step, or when it ends.  The first pause is
 * always real, so that a program that pauses once, for long, is not interrupted without need.
 */

#include "recorder/window.h"

#include "base/clock.h"
#include "base/err.h"
#include "recorder/cost.h"
#include "recorder/recorder-private.h"

#include <errno.h>
#include <time.h>

/* At usual rates, one or two dozen samples per CPU. */
#define SHORT_NS 20000000u

/* Gaps are kept until no record from them can arrive: a record is in its ring some microseconds
 * after its time, but a virtual CPU may be descheduled in between. */
#define KEEP_GAPS_NS 100000000u
#define MANY_GAPS 16384u

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What an event counted since it was opened, without gaps. */
static void read_count(struct cprof_recorder *r, size_t i, struct source_count *c)
{
	uint64_t gaps_ns = pausegaps_total_ns(&r->engine.window.gaps, clock_monotonic_ns());
	source_count(r->session.source, i, c);
	if (!gaps_ns)
		return;
	gaps_ns *= source_n_places(r->session.source, i);
	double running = c->time_enabled_ns ? (double)c->time_running_ns /
					      (double)c->time_enabled_ns : 0;
	c->time_enabled_ns = minus(c->time_enabled_ns, gaps_ns);
	c->time_running_ns = minus(c->time_running_ns, (uint64_t)((double)gaps_ns * running));
	uint64_t ignored = r->session.event[i].is_clock ? gaps_ns : r->engine.window.gap_value[i];
	c->value = minus(c->value, ignored);
}

void window_begin(struct cprof_recorder *r)
{
	r->window.start_realtime_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	r->window.start_ns = clock_monotonic_ns();
	r->window.resumed_ns = r->window.start_ns;
	r->window.active_ns = 0;
	coverage_start(&r->coverage);
	for (size_t i = 0; i < r->session.n_events; i++)
		read_count(r, i, &r->event[i].base);
	cost_start(r);
	r->window.is_open = true;
}

static void begin_times(struct cprof_recorder *r)
{
	r->window.start_realtime_ns = (int64_t)clock_now_ns(CLOCK_REALTIME);
	r->window.start_ns = r->window.resumed_ns = clock_monotonic_ns();
	r->window.active_ns = 0;
}

void window_restart(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->session.n_events; i++)
		read_count(r, i, &r->event[i].base);
	begin_times(r);
}

uint64_t window_duration_ns(const struct cprof_recorder *r)
{
	if (!r->window.is_open)
		return 0;  /* the delay is not over */
	uint64_t now = r->stopped ? r->window.end_ns : clock_monotonic_ns();
	return r->window.active_ns + (r->window.paused ? 0 : now - r->window.resumed_ns);
}

void window_event_stats(struct cprof_recorder *r, size_t i, struct cprof_event_stats *ret)
{
	struct recorder_event *re = &r->event[i];
	const struct kind_event *k = &r->session.event[i];
	const struct engine_event *ev = &r->engine.event[i];
	*ret = (struct cprof_event_stats){
		.name = k->name, .file_part = k->file_part, .sample_type = k->sample_type,
		.unit = k->unit, .is_clock = k->is_clock, .group = k->group,
		.count_scale = k->count_scale, .count_unit = k->count_unit,
		.given_up_kernel = k->given_up_kernel,
		.freq_hz = k->is_freq ? k->rate : 0, .period = k->is_freq ? 0 : k->rate,
		.n_samples = ev->n_samples, .value = ev->value, .n_lost = re->n_lost,
		.n_lost_shown = ev->n_lost,
		.n_throttles = ev->n_throttles,
		.counted = re->count.value, .counted_target = r->session.scope != CPROF_SCOPE_CPU,
		.time_enabled_ns = re->count.time_enabled_ns,
		.time_running_ns = re->count.time_running_ns,
	};
	cost_event_stats(r, i, ret);
}

/*
 * Accounts for samples that the kernel could not deliver.  Its counter per event is exact; on
 * kernels without it, records in the ring give the same number.  Lost samples of a CPU's event may
 * belong to other tasks: they are divided in the proportion of the delivered ones.
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
	/* No more can be missing than what the kernel accounted to the target: the rest was samples
	 * of other tasks, or records of other types. */
	struct cprof_stats stats;
	struct cprof_event_stats own;
	cprof_recorder_stats(r, &stats);
	window_event_stats(r, i, &own);
	double percent = recorder_coverage_percent(r, &stats, &own);
	if (percent > 0 && period) {
		double missing = percent < 100 ? (double)ev->value * (100 / percent - 1) : 0;
		n = missing < (double)n * (double)period ? (uint64_t)(missing / (double)period) : n;
	}
	/* The next sample's weight includes what the lost one would have stood for. */
	if (r->session.event[i].by_count)
		period = 0;
	/* An earlier snapshot has counted some of them already. */
	if (n > ev->n_lost)
		engine_add_lost(&r->engine, (uint32_t)i, n - ev->n_lost, (n - ev->n_lost) * period);
}

void window_count(struct cprof_recorder *r)
{
	for (size_t i = 0; i < r->session.n_events; i++) {
		struct source_count *c = &r->event[i].count;
		const struct source_count *base = &r->event[i].base;
		read_count(r, i, c);
		/* An ignored sample also stands for time before the window. */
		c->value = minus(c->value, base->value);
		c->time_enabled_ns = minus(c->time_enabled_ns, base->time_enabled_ns);
		c->time_running_ns = minus(c->time_running_ns, base->time_running_ns);
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

static int check_pausable(const struct cprof_recorder *r, size_t event, struct err *e)
{
	int code = check_running(r, e);
	if (code == 0 && !r->config.pausable)
		return err_set(e, EINVAL, "the recorder was not created with pausable set");
	if (code == 0 && event != CPROF_ALL_EVENTS && event >= r->session.n_outputs)
		return err_set(e, EINVAL, "there is no such event");
	return code;
}

/* Calls change for each session event that belongs to one of the user's events. */
static int each_variant(struct cprof_recorder *r, size_t event,
			int (*change)(struct source *s, size_t event, struct err *e), struct err *e)
{
	int code = 0;
	for (size_t i = 0; i < r->session.n_events && code == 0; i++)
		if (r->session.event[i].output == event)
			code = change(r->session.source, i, e);
	return code;
}

/* Really disables the events of a pause that so far was only marked by time. */
static int disable_paused(struct cprof_recorder *r, struct err *e)
{
	int code = 0;
	if (r->engine.window.gaps.open_ns)
		code = source_pause(r->session.source, SOURCE_ALL_EVENTS, e);
	pausegaps_end(&r->engine.window.gaps, clock_monotonic_ns());
	return code;
}

/* Has a pause that was meant to be short become too long? */
static bool is_too_long(const struct cprof_recorder *r)
{
	uint64_t since_ns = r->engine.window.gaps.open_ns;
	return since_ns && clock_monotonic_ns() - since_ns > SHORT_NS;
}

int window_tend(struct cprof_recorder *r, struct err *e)
{
	return is_too_long(r) ? disable_paused(r, e) : 0;
}

void window_drained(struct cprof_recorder *r, uint64_t time_ns)
{
	pausegaps_forget(&r->engine.window.gaps, minus(time_ns, KEEP_GAPS_NS));
}

/* Without calls of cprof_recorder_step, the list of gaps would grow without bound. */
static int drain_gaps(struct cprof_recorder *r, struct err *e)
{
	size_t n = r->engine.window.gaps.list.n;
	if (n < MANY_GAPS || (n & (MANY_GAPS - 1)))
		return 0;
	int code = cprof_recorder_step(r, 0, NULL, 0, NULL, e);
	return code < 0 ? code : 0;
}

/* Pauses without disabling the events, if the previous pauses suggest that this is cheaper. */
static bool pause_by_time(struct cprof_recorder *r, uint64_t time_ns)
{
	const struct window *w = &r->window;
	return r->session.source->facts.pause_is_slow && w->is_open && w->pauses_are_short &&
	       !w->paused && !w->some_paused && pausegaps_begin(&r->engine.window.gaps, time_ns);
}

int cprof_recorder_pause(struct cprof_recorder *r, size_t event, struct err *e)
{
	uint64_t time_ns = clock_monotonic_ns();
	int code = check_pausable(r, event, e);
	if (code < 0)
		return code;
	if (event != CPROF_ALL_EVENTS) {
		r->window.is_partial = r->window.some_paused = true;
		code = disable_paused(r, e);
		return code < 0 ? code : each_variant(r, event, source_pause, e);
	}
	if (r->window.paused)
		return 0;
	code = drain_gaps(r, e);
	if (code == 0 && !pause_by_time(r, time_ns))
		code = source_pause(r->session.source, SOURCE_ALL_EVENTS, e);
	if (code < 0)
		return code;
	if (r->window.is_open)
		r->window.active_ns += time_ns - r->window.resumed_ns;
	r->window.paused_ns = time_ns;
	r->window.paused = r->window.is_partial = true;
	return 0;
}

int cprof_recorder_resume(struct cprof_recorder *r, size_t event, struct err *e)
{
	int code = check_pausable(r, event, e);
	if (code < 0)
		return code;
	/* The rings may be full of samples from a long pause. */
	if (is_too_long(r))
		code = cprof_recorder_step(r, 0, NULL, 0, NULL, e);
	if (code >= 0 && event != CPROF_ALL_EVENTS)
		code = disable_paused(r, e);
	if (code < 0)
		return code;
	if (event != CPROF_ALL_EVENTS)
		code = each_variant(r, event, source_resume, e);
	else if (!r->engine.window.gaps.open_ns)
		code = source_resume(r->session.source, SOURCE_ALL_EVENTS, e);
	if (code < 0)
		return code;
	struct window *w = &r->window;
	uint64_t time_ns = clock_monotonic_ns();
	pausegaps_end(&r->engine.window.gaps, time_ns);
	w->some_paused = event != CPROF_ALL_EVENTS && (w->some_paused || w->paused);
	if (!w->paused)
		return 0;
	w->pauses_are_short = event == CPROF_ALL_EVENTS && time_ns - w->paused_ns < SHORT_NS;
	w->resumed_ns = time_ns;
	w->paused = false;
	return 0;
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
	r->names_ready = false;  /* known names are kept */
	return 0;
}

int cprof_recorder_clear(struct cprof_recorder *r, struct err *e)
{
	int code = check_running(r, e);
	if (code < 0)
		return code;
	/* The counts of all slices are no base for the next profile. */
	bool is_count = r->counted && !r->slices.slice_ns;
	slices_scatter(r);
	slices_clear(r);
	if (!is_count)
		window_count(r);
	r->names_ready = false;
	code = engine_clear(&r->engine, e);
	for (size_t i = 0; i < r->session.n_events; i++) {
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
	/* The kernel's account of a child starts at its birth. */
	r->window.is_partial = true;
	return code;
}
