/*
 * Every refresh is a profile of its own: a snapshot that is written into memory and read back like
 * any profile (top-tally.c).  After it the recorder starts from zero.
 */

#include "cmd/top/top-state.h"

#include "base/clock.h"
#include "base/membuf.h"

#include <stdio.h>
#include <stdlib.h>

void top_refresh_begin(struct top_state *top)
{
	top->shown_ns = clock_monotonic_ns();
	top->own_cpu_ns = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

static void add_losses(struct top_view_losses *l, const struct cprof_stats *st,
		       const struct cprof_event_stats *ev)
{
	l->n_samples += ev->n_samples;
	l->n_lost += ev->n_lost_target;
	l->n_throttles += ev->n_throttles;
	l->n_cut += st->n_cut;
	l->n_truncated += st->n_truncated;
	l->n_dropped += st->n_dropped;
	l->n_undecodable += st->n_undecodable;
}

static int take_event(struct top_state *top, size_t i, struct err *e)
{
	struct cprof_stats st;
	struct cprof_event_stats ev;
	struct membuf b = { 0 };
	int r = 0;
	cprof_recorder_stats(top->recorder, &st);
	cprof_recorder_event_stats(top->recorder, i, &ev);
	add_losses(&top->losses[i], &st, &ev);
	if (ev.n_samples || ev.n_lost_shown)
		r = cprof_recorder_write(top->recorder, i, membuf_write, &b, e);
	cprof_recorder_stats(top->recorder, &st);
	if (st.is_private)
		top->o.mode.denied |= FILEMODE_PRIVATE;
	if (r < 0) {
		VEC_FREE(&b.bytes);
		return r;
	}
	struct top_tally_part part = { b.bytes.v, b.bytes.n };
	return top_tally_add(&top->tally[i], part, st.duration_ns, e);
}

int top_refresh_tables(struct top_state *top, struct err *e)
{
	struct top_tally *tally = &top->tally[top->event];
	VEC_FREE(&top->functions.rows);
	VEC_FREE(&top->threads.rows);
	VEC_FREE(&top->states.rows);
	VEC_FREE(&top->locks.rows);
	int r = top_tables_threads(tally, &top->threads, e);
	if (r == 0)
		r = top_tables_states(tally, top->thread, &top->states, e);
	if (r == 0)
		r = top_tables_locks(tally, top->thread, &top->locks, e);
	return r < 0 ? r : top_tables_functions(tally, top->thread, top->order, &top->functions, e);
}

static int take_events(struct top_state *top, struct err *e)
{
	int r = cprof_recorder_snapshot(top->recorder, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < top->n_events; i++) {
		r = take_event(top, i, e);
		if (r < 0)
			return r;
	}
	r = cprof_recorder_clear(top->recorder, e);
	return r < 0 ? r : top_refresh_tables(top, e);
}

int top_refresh_take(struct top_state *top, struct err *e)
{
	/* After the target has ended there is nothing new. */
	if (top->ended)
		return 0;
	realtime_lower(&top->realtime);
	int r = take_events(top, e);
	uint64_t now = clock_monotonic_ns(), cpu = clock_now_ns(CLOCK_PROCESS_CPUTIME_ID);
	top->own_cpu = (double)(cpu - top->own_cpu_ns) / (double)(now - top->shown_ns + 1);
	top->shown_ns = now;
	top->own_cpu_ns = cpu;
	realtime_raise(&top->realtime);
	return r;
}

void top_refresh_draw(struct top_state *top)
{
	struct cprof_event_stats ev;
	cprof_recorder_event_stats(top->recorder, top->event, &ev);
	struct top_view v = {
		.target = top->target, .event = ev.name, .unit = ev.unit, .freq_hz = ev.freq_hz,
		.period = ev.period, .message = top->message[0] ? top->message : NULL,
		.is_frozen = top->frozen, .has_ended = top->ended, .wants_help = top->help,
		.own_cpu = top->own_cpu, .losses = top->losses[top->event],
		.tally = &top->tally[top->event], .functions = &top->functions,
		.threads = &top->threads, .states = &top->states, .locks = &top->locks,
		.is_waiting = ev.is_waiting, .order = top->order, .thread = top->thread,
		.first = top->first,
	};
	if (top->o.batch) {
		top_view_print(&v, &top->term, 0, top->o.limit);
		fputc('\n', stdout);
		fflush(stdout);
		return;
	}
	char *text = NULL;
	size_t n = 0;
	top->term.out = open_memstream(&text, &n);
	if (!top->term.out)
		return;
	top->term.width = top->screen.width;
	top_view_print(&v, &top->term, top->screen.height, top->o.limit);
	if (fclose(top->term.out) == 0)
		top_screen_draw(&top->screen, text);
	top->term.out = NULL;
	free(text);
}

int top_refresh_reset(struct top_state *top, struct err *e)
{
	if (!top->ended) {
		int r = cprof_recorder_snapshot(top->recorder, e);
		if (r < 0)
			return r;
		r = cprof_recorder_clear(top->recorder, e);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < top->n_events; i++) {
		top_tally_clear(&top->tally[i]);
		top->losses[i] = (struct top_view_losses){ 0 };
	}
	top->thread = TOP_TALLY_ALL;
	top->first = 0;
	top_keys_show(top, "started again from zero");
	return 0;
}
