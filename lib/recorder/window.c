/*
 * Parts of a recording: pauses, snapshots, and starting a new profile.  Meanwhile the processes and
 * their code continue to be recorded.
 *
 * Disabling an event of another CPU takes an interrupt there: some microseconds each, up to ten in
 * a virtual machine with idle CPUs.  So with events of whole CPUs a pause leaves them on if the
 * previous pause was shorter than SHORT_NS.  Samples of the pause are recognised by their time
 * (pausegaps.c), so the window is just as exact.  Counters keep counting then: their time is
 * corrected exactly, their value by the sum of the samples that were ignored.  A pause that lasts
 * longer becomes a real one at the next cprof_recorder_step, or when it ends.  The first pause is
 * always real, so that a program that pauses once, for long, is not interrupted needlessly.
 */

#include "recorder/window.h"

#include "base/clock.h"
#include "cprof.h"
#include "engine/engine.h"
#include "recorder/kind.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

/* At usual rates, one or two dozen samples per CPU. */
#define SHORT_NS 20000000u

/* Gaps are kept until no record from them can arrive: a record is in its ring some microseconds
 * after its time, but a virtual CPU may be descheduled in between. */
#define KEEP_GAPS_NS 100000000u
#define MANY_GAPS 16384u

/* ---- life -------------------------------------------------------------------------- */

int window_init(struct window *w, const struct kind_session *k, struct engine_window *samples)
{
	*w = (struct window){ .session = k, .samples = samples };
	w->event = calloc(k->n_events, sizeof(*w->event));
	return w->event ? 0 : -ENOMEM;
}

void window_done(struct window *w)
{
	free(w->event);
	*w = (struct window){ 0 };
}

static uint64_t minus(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* What an event counted since it was opened, without gaps. */
static struct source_count without_gaps(const struct window *w, size_t i)
{
	const struct kind_session *k = w->session;
	struct source_count c = w->event[i].read;
	if (!w->gaps_ns && !w->samples->gap_value[i])
		return c;
	uint64_t gaps_ns = w->gaps_ns * source_n_places(k->source, i);
	double running = c.time_enabled_ns ? (double)c.time_running_ns /
					     (double)c.time_enabled_ns : 0;
	c.time_enabled_ns = minus(c.time_enabled_ns, gaps_ns);
	c.time_running_ns = minus(c.time_running_ns, (uint64_t)((double)gaps_ns * running));
	c.value = minus(c.value, k->event[i].is_clock ? gaps_ns : w->samples->gap_value[i]);
	return c;
}

void window_read(struct window *w)
{
	w->gaps_ns = pausegaps_total_ns(&w->samples->gaps, clock_monotonic_ns());
	for (size_t i = 0; i < w->session->n_events; i++)
		source_count(w->session->source, i, &w->event[i].read);
}

static void read_bases(struct window *w)
{
	window_read(w);
	for (size_t i = 0; i < w->session->n_events; i++)
		w->event[i].base = without_gaps(w, i);
}

/* The time without pauses up to a time that is not before the last pause ended. */
static uint64_t active_at(const struct window *w, uint64_t time_ns)
{
	return w->active_ns + (w->paused ? 0 : time_ns - w->resumed_ns);
}

static void begin_times(struct window *w)
{
	uint64_t since_ns = clock_monotonic_ns() - w->taken_ns;
	w->start_realtime_ns = (int64_t)(clock_now_ns(CLOCK_REALTIME) - since_ns);
	w->start_ns = w->taken_ns;
	w->start_active_ns = w->taken_active_ns;
	w->counted_ns = 0;
}

void window_begin(struct window *w)
{
	w->taken_ns = w->resumed_ns = clock_monotonic_ns();
	begin_times(w);
	read_bases(w);
	w->is_open = true;
}

void window_restart(struct window *w)
{
	read_bases(w);
	begin_times(w);
}

void window_restart_counted(struct window *w)
{
	for (size_t i = 0; i < w->session->n_events; i++) {
		struct window_event *ev = &w->event[i];
		ev->base.value += ev->count.value;
		ev->base.time_enabled_ns += ev->count.time_enabled_ns;
		ev->base.time_running_ns += ev->count.time_running_ns;
		ev->base.n_lost += ev->count.n_lost;
		ev->n_lost = 0;
	}
	begin_times(w);
}

void window_end(struct window *w)
{
	w->end_ns = w->samples->end_ns = clock_monotonic_ns();
	pausegaps_end(&w->samples->gaps, w->end_ns);
}

uint64_t window_end_ns(const struct window *w)
{
	if (w->end_ns)
		return w->end_ns;
	return w->counted_ns ? w->taken_ns : clock_monotonic_ns();
}

int64_t window_end_realtime_ns(const struct window *w)
{
	return w->start_realtime_ns + (w->is_open ? (int64_t)(window_end_ns(w) - w->start_ns) : 0);
}

uint64_t window_duration_ns(const struct window *w)
{
	if (!w->is_open)
		return 0;  /* the delay is not over */
	if (w->counted_ns && !w->end_ns)
		return w->taken_active_ns - w->start_active_ns;  /* a pause may follow */
	return active_at(w, window_end_ns(w)) - w->start_active_ns;
}

/*
 * The kernel counts lost records by their event, and the first event of a thread also carries the
 * records of its mappings, its name, and what it creates.  With a sample per occurrence, the lost
 * samples are exactly what was not delivered.
 */
static uint64_t without_sideband(const struct window *w, size_t event, uint64_t n_lost,
				 const struct engine_event *seen)
{
	const struct kind_event *k = &w->session->event[event];
	const struct window_event *ev = &w->event[event];
	uint64_t n_delivered = seen->n_samples + seen->n_foreign;
	/* Only of a whole recording: at the end of other windows, records are on their way. */
	bool is_known = w->end_ns && !ev->base.value && !w->session->was_cpu &&
			!k->is_freq && k->rate == 1;
	uint64_t n_missing = minus(ev->count.value, n_delivered);
	return is_known && n_missing < n_lost ? n_missing : n_lost;
}

void window_count(struct window *w, const struct engine_event *seen)
{
	for (size_t i = 0; i < w->session->n_events; i++) {
		struct source_count *c = &w->event[i].count;
		const struct source_count *base = &w->event[i].base;
		*c = without_gaps(w, i);
		/* An ignored sample also stands for time before the window. */
		c->value = minus(c->value, base->value);
		c->time_enabled_ns = minus(c->time_enabled_ns, base->time_enabled_ns);
		c->time_running_ns = minus(c->time_running_ns, base->time_running_ns);
		c->n_lost -= base->n_lost;
		uint64_t n_lost = c->has_lost ? c->n_lost : seen[i].n_lost_records;
		w->event[i].n_lost = without_sideband(w, i, n_lost, &seen[i]);
	}
	w->counted_ns = w->taken_ns;
}

/* ---- pauses ------------------------------------------------------------------------ */

/* Calls change for each session event that belongs to one of the user's events. */
static int each_variant(const struct window *w, size_t event,
			int (*change)(struct source *s, size_t event, struct err *e), struct err *e)
{
	const struct kind_session *k = w->session;
	for (size_t i = 0; i < k->n_events; i++) {
		int r = k->event[i].output == event ? change(k->source, i, e) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Really disables the events of a pause that so far was only marked by time. */
static int disable_paused(struct window *w, struct err *e)
{
	struct pausegaps *gaps = &w->samples->gaps;
	int r = gaps->open_ns ? source_pause(w->session->source, SOURCE_ALL_EVENTS, e) : 0;
	pausegaps_end(gaps, clock_monotonic_ns());
	return r;
}

bool window_is_overdue(const struct window *w)
{
	uint64_t since_ns = w->samples->gaps.open_ns;
	return since_ns && clock_monotonic_ns() - since_ns > SHORT_NS;
}

int window_tend(struct window *w, struct err *e)
{
	return window_is_overdue(w) ? disable_paused(w, e) : 0;
}

void window_drained(struct window *w, uint64_t time_ns)
{
	pausegaps_forget(&w->samples->gaps, minus(time_ns, KEEP_GAPS_NS));
	if (!w->is_open)
		return;
	w->taken_ns = time_ns;
	w->taken_active_ns = active_at(w, time_ns);
}

bool window_is_full(const struct window *w)
{
	size_t n = w->samples->gaps.list.n;
	return n >= MANY_GAPS && !(n & (MANY_GAPS - 1));
}

/* Pauses without disabling the events, if the previous pauses suggest that this is cheaper. */
static bool pause_by_time(struct window *w, uint64_t time_ns)
{
	return w->session->source->facts.pause_is_slow && w->is_open && w->pauses_are_short &&
	       !w->paused && !w->some_paused && pausegaps_begin(&w->samples->gaps, time_ns);
}

static int pause_one(struct window *w, size_t event, struct err *e)
{
	w->is_partial = w->some_paused = true;
	int r = disable_paused(w, e);
	return r < 0 ? r : each_variant(w, event, source_pause, e);
}

int window_pause(struct window *w, size_t event, uint64_t time_ns, struct err *e)
{
	if (event != CPROF_ALL_EVENTS)
		return pause_one(w, event, e);
	if (w->paused)
		return 0;
	if (!pause_by_time(w, time_ns)) {
		int r = source_pause(w->session->source, SOURCE_ALL_EVENTS, e);
		if (r < 0)
			return r;
		pausegaps_skip(&w->samples->gaps, time_ns, clock_monotonic_ns());
	}
	if (w->is_open)
		w->active_ns += time_ns - w->resumed_ns;
	w->paused_ns = time_ns;
	w->paused = w->is_partial = true;
	return 0;
}

/* Enables the events that a pause has disabled. */
static int enable_paused(struct window *w, size_t event, struct err *e)
{
	if (event == CPROF_ALL_EVENTS)
		return w->samples->gaps.open_ns ? 0 : source_resume(w->session->source,
								    SOURCE_ALL_EVENTS, e);
	int r = disable_paused(w, e);
	return r < 0 ? r : each_variant(w, event, source_resume, e);
}

int window_resume(struct window *w, size_t event, struct err *e)
{
	bool is_all = event == CPROF_ALL_EVENTS, was_on = w->samples->gaps.open_ns;
	uint64_t called_ns = clock_monotonic_ns();
	int r = enable_paused(w, event, e);
	if (r < 0)
		return r;
	uint64_t time_ns = clock_monotonic_ns();
	pausegaps_end(&w->samples->gaps, time_ns);
	if (is_all && w->paused && !was_on)
		pausegaps_skip(&w->samples->gaps, called_ns, time_ns);
	w->some_paused = event != CPROF_ALL_EVENTS && (w->some_paused || w->paused);
	if (!w->paused)
		return 0;
	w->pauses_are_short = event == CPROF_ALL_EVENTS && time_ns - w->paused_ns < SHORT_NS;
	w->resumed_ns = time_ns;
	w->paused = false;
	return 0;
}
