/*
 * Cutting moves the engine's table of counts into the slice and gives the engine an empty one, so
 * it costs nothing per sample.  Merging costs one look-up per entry, and happens only when a
 * profile is written.  gc-tables.c frees stacks that only dropped slices had.
 */

#include "recorder/slices.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/gc-tables.h"
#include "recorder/recorder-private.h"
#include "recorder/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void slice_done(struct slice *s)
{
	counts_done(&s->counts);
	stack_user_counts_done(&s->user);
	free(s->event);
	free(s->base);
	*s = (struct slice){ 0 };
}

/* Moves the present slice out of the engine, which starts an empty one. */
static int take_out(struct cprof_recorder *r, struct slice *ret, struct err *e)
{
	struct engine *g = &r->engine;
	size_t n = g->options.n_events;
	struct slice s = {
		.event = calloc(n, sizeof(*s.event)), .base = calloc(n, sizeof(*s.base)),
		.walk = g->walk.stats, .app = g->app.stats,
		.n_labels_dropped = g->own_labels.n_dropped,
		.start_realtime_ns = r->window.start_realtime_ns, .start_ns = r->window.start_ns,
		.duration_ns = window_duration_ns(r),
	};
	struct counts fresh = { .n = 0 };
	if (!s.event || !s.base || counts_init(&fresh, &g->budget) < 0 ||
	    stack_user_take(&g->walk.user, &s.user) < 0) {
		counts_done(&fresh);
		slice_done(&s);
		return err_errno(e, ENOMEM, "cannot keep what was recorded");
	}
	s.counts = g->counts;
	g->counts = fresh;
	memcpy(s.event, g->event, n * sizeof(*s.event));
	memset(g->event, 0, n * sizeof(*g->event));
	for (size_t i = 0; i < n; i++)
		s.base[i] = r->event[i].base;
	g->walk.stats = (struct stack_walk_stats){ 0 };
	g->own_labels.n_dropped = 0;
	g->app.stats = (struct applabels_stats){ .n_processes = s.app.n_processes };
	*ret = s;
	return 0;
}

static void drop_oldest(struct slices *s)
{
	slice_done(&s->old[0]);
	s->n--;
	memmove(s->old, s->old + 1, s->n * sizeof(*s->old));
	s->old[s->n] = (struct slice){ 0 };
}

/* A slice is dropped when the next one alone covers enough time. */
static void drop_old(struct cprof_recorder *r, uint64_t now_ns)
{
	struct slices *s = &r->slices;
	while (s->n) {
		uint64_t next_ns = s->n > 1 ? s->old[1].start_ns : r->window.start_ns;
		if (next_ns + r->config.keep_last_ns > now_ns && s->n < SLICES_N)
			return;
		drop_oldest(s);
	}
}

int slices_advance(struct cprof_recorder *r, uint64_t now_ns, struct err *e)
{
	struct slices *s = &r->slices;
	if (!s->slice_ns || !r->window.is_open || s->gathered)
		return 0;
	if (!s->since_ns)
		s->since_ns = r->window.start_ns;
	if (now_ns - s->since_ns < s->slice_ns)
		return 0;
	drop_old(r, now_ns);
	int code = take_out(r, &s->old[s->n], e);
	if (code < 0)
		return code;
	s->n++;
	s->since_ns = now_ns;
	window_restart(r);
	r->window.is_partial = true;
	return 0;
}

/* Compaction is also due when a key has as many values as allowed: values of dropped slices make
 * room for others. */
static bool is_due(const struct cprof_recorder *r, uint64_t now_ns)
{
	return gc_tables_is_due(&r->engine) ||
	       (appvalues_is_full(&r->engine.app.values) &&
		now_ns - r->slices.compacted_ns >= r->config.keep_last_ns / 4);
}

void slices_compact(struct cprof_recorder *r, uint64_t now_ns)
{
	struct slices *s = &r->slices;
	struct gc_tables_part part[SLICES_N];
	if (s->gathered || !is_due(r, now_ns))
		return;
	for (size_t i = 0; i < s->n; i++)
		part[i] = (struct gc_tables_part){ &s->old[i].counts, &s->old[i].user };
	s->compacted_ns = now_ns;
	gc_tables_run(&r->engine, part, s->n);
}

/* Adds structs that consist of uint64_t, so that a new counter needs no line here. */
static void add_counters(void *to, const void *from, size_t n_bytes)
{
	uint64_t *sum = to;
	const uint64_t *more = from;
	for (size_t i = 0; i < n_bytes / sizeof(*sum); i++)
		sum[i] += more[i];
}

static void add_slice(struct cprof_recorder *r, const struct slice *s)
{
	struct engine *g = &r->engine;
	for (uint32_t i = 0; i < s->counts.n; i++) {
		const struct count *c = &s->counts.v[i];
		if (c->n_samples)
			counts_add(&g->counts, c->event, c->stack, c->labels, c->n_samples,
				   c->value, true);
	}
	add_counters(g->event, s->event, g->options.n_events * sizeof(*g->event));
	add_counters(&g->walk.stats, &s->walk, sizeof(s->walk));
	g->own_labels.n_dropped += s->n_labels_dropped;
	stack_user_add(&g->walk.user, &s->user);
	uint64_t n_processes = g->app.stats.n_processes;
	add_counters(&g->app.stats, &s->app, sizeof(s->app));
	g->app.stats.n_processes = n_processes;
}

int slices_gather(struct cprof_recorder *r, struct err *e)
{
	struct slices *s = &r->slices;
	if (!s->slice_ns || s->gathered)
		return 0;
	drop_old(r, r->stopped ? r->window.end_ns : clock_monotonic_ns());
	struct slice *present = &s->old[s->n];
	int code = take_out(r, present, e);
	if (code < 0)
		return code;
	s->gathered = true;
	for (size_t i = 0; i <= s->n; i++)
		add_slice(r, &s->old[i]);
	for (size_t i = 0; i < s->n; i++)
		r->window.active_ns += s->old[i].duration_ns;
	r->window.start_realtime_ns = s->old[0].start_realtime_ns;
	r->window.start_ns = s->old[0].start_ns;
	for (size_t i = 0; i < r->session.n_events; i++)
		r->event[i].base = s->old[0].base[i];
	return 0;
}

void slices_scatter(struct cprof_recorder *r)
{
	struct slices *s = &r->slices;
	struct engine *g = &r->engine;
	if (!s->gathered)
		return;
	struct slice *present = &s->old[s->n];
	s->gathered = false;
	counts_done(&g->counts);
	g->counts = present->counts;
	present->counts = (struct counts){ 0 };
	memcpy(g->event, present->event, g->options.n_events * sizeof(*g->event));
	for (size_t i = 0; i < r->session.n_events; i++)
		r->event[i].base = present->base[i];
	g->walk.stats = present->walk;
	g->own_labels.n_dropped = present->n_labels_dropped;
	stack_user_clear(&g->walk.user);
	stack_user_add(&g->walk.user, &present->user);
	g->app.stats = present->app;
	for (size_t i = 0; i < s->n; i++)
		r->window.active_ns -= s->old[i].duration_ns;
	r->window.start_realtime_ns = present->start_realtime_ns;
	r->window.start_ns = present->start_ns;
	slice_done(present);
}

void slices_clear(struct cprof_recorder *r)
{
	while (r->slices.n)
		drop_oldest(&r->slices);
	r->slices.since_ns = 0;
}
