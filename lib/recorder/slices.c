/*
 * Cutting moves the engine's table of counts into the slice and gives the engine an empty one, so
 * it costs nothing per sample.  Merging costs one look-up per entry, and happens only when a
 * profile is written.  gc-tables.c frees stacks that only dropped slices used.
 */

#include "recorder/slices.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "engine/gc-tables.h"
#include "recorder/window.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void slices_init(struct slices *s, struct engine *g, struct window *w, uint64_t keep_last_ns)
{
	*s = (struct slices){
		.engine = g, .window = w, .keep_last_ns = keep_last_ns,
		.slice_ns = (keep_last_ns + SLICES_N - 1) / SLICES_N,
	};
}

static void slice_done(struct slice *s)
{
	counts_done(&s->counts);
	stack_user_counts_done(&s->user);
	free(s->event);
	free(s->base);
	*s = (struct slice){ 0 };
}

/* Moves the present slice out of the engine, which starts an empty one. */
static int take_out(struct slices *from, struct slice *ret, struct err *e)
{
	struct engine *g = from->engine;
	const struct window *w = from->window;
	size_t n = g->options.n_events;
	struct slice s = {
		.event = calloc(n, sizeof(*s.event)), .base = calloc(n, sizeof(*s.base)),
		.walk = g->walk.stats, .app = g->app.stats, .go = g->go.stats,
		.functions = g->functions.stats,
		.n_labels_dropped = g->own_labels.n_dropped,
		.start_realtime_ns = w->start_realtime_ns, .start_ns = w->start_ns,
		.start_active_ns = w->start_active_ns,
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
		s.base[i] = w->event[i].base;
	g->walk.stats = (struct stack_walk_stats){ 0 };
	g->own_labels.n_dropped = 0;
	g->app.stats = (struct applabels_stats){ .n_processes = s.app.n_processes };
	g->go.stats = (struct golabels_stats){ .n_processes = s.go.n_processes };
	g->functions.stats = (struct functions_stats){ .lag_ns = 0 };
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
static void drop_old(struct slices *s, uint64_t now_ns)
{
	while (s->n) {
		uint64_t next_ns = s->n > 1 ? s->old[1].start_ns : s->window->start_ns;
		if (next_ns + s->keep_last_ns > now_ns && s->n < SLICES_N)
			return;
		drop_oldest(s);
	}
}

bool slices_are_due(const struct slices *s, uint64_t now_ns)
{
	uint64_t since_ns = s->since_ns ? s->since_ns : s->window->start_ns;
	return s->slice_ns && s->window->is_open && !s->gathered &&
	       now_ns - since_ns >= s->slice_ns;
}

int slices_advance(struct slices *s, uint64_t now_ns, struct err *e)
{
	struct window *w = s->window;
	if (!slices_are_due(s, now_ns))
		return 0;
	drop_old(s, now_ns);
	int r = take_out(s, &s->old[s->n], e);
	if (r < 0)
		return r;
	s->n++;
	s->since_ns = now_ns;
	window_restart(w);
	w->is_partial = true;
	return 0;
}

/* Compaction is also due when a key has as many values as allowed: values of dropped slices make
 * room for others. */
static bool is_due(const struct slices *s, uint64_t now_ns)
{
	return gc_tables_is_due(&s->engine->gc.tables) ||
	       (appvalues_is_full(&s->engine->app.values) &&
		now_ns - s->compacted_ns >= s->keep_last_ns / 4);
}

void slices_compact(struct slices *s, uint64_t now_ns)
{
	struct gc_tables_part part[SLICES_N];
	if (s->gathered || !is_due(s, now_ns))
		return;
	for (size_t i = 0; i < s->n; i++)
		part[i] = (struct gc_tables_part){ &s->old[i].counts, &s->old[i].user };
	s->compacted_ns = now_ns;
	gc_tables_run(&s->engine->gc.tables, part, s->n);
}

/* Adds structs that consist of uint64_t, so that a new counter needs no line here. */
static void add_counters(void *to, const void *from, size_t n_bytes)
{
	uint64_t *sum = to;
	const uint64_t *more = from;
	for (size_t i = 0; i < n_bytes / sizeof(*sum); i++)
		sum[i] += more[i];
}

static void add_slice(struct engine *g, const struct slice *s)
{
	for (uint32_t i = 0; i < s->counts.n; i++) {
		const struct count *c = &s->counts.v[i];
		if (c->n_samples || c->value)
			counts_add(&g->counts, c->event, c->stack, c->labels, c->n_samples,
				   c->value, true);
	}
	add_counters(g->event, s->event, g->options.n_events * sizeof(*g->event));
	add_counters(&g->walk.stats, &s->walk, sizeof(s->walk));
	g->own_labels.n_dropped += s->n_labels_dropped;
	stack_user_add(&g->walk.user, &s->user);
	uint64_t n_processes = g->app.stats.n_processes, n_go = g->go.stats.n_processes;
	add_counters(&g->app.stats, &s->app, sizeof(s->app));
	add_counters(&g->go.stats, &s->go, sizeof(s->go));
	add_counters(&g->functions.stats, &s->functions, sizeof(s->functions));
	g->app.stats.n_processes = n_processes;
	g->go.stats.n_processes = n_go;
}

int slices_gather(struct slices *s, struct err *e)
{
	struct window *w = s->window;
	if (!s->slice_ns || s->gathered)
		return 0;
	drop_old(s, w->end_ns ? w->end_ns : w->taken_ns);
	int r = take_out(s, &s->old[s->n], e);
	if (r < 0)
		return r;
	s->gathered = true;
	for (size_t i = 0; i <= s->n; i++)
		add_slice(s->engine, &s->old[i]);
	w->start_realtime_ns = s->old[0].start_realtime_ns;
	w->start_ns = s->old[0].start_ns;
	w->start_active_ns = s->old[0].start_active_ns;
	for (size_t i = 0; i < s->engine->options.n_events; i++)
		w->event[i].base = s->old[0].base[i];
	return 0;
}

void slices_scatter(struct slices *s)
{
	struct engine *g = s->engine;
	struct window *w = s->window;
	if (!s->gathered)
		return;
	struct slice *present = &s->old[s->n];
	s->gathered = false;
	counts_done(&g->counts);
	g->counts = present->counts;
	present->counts = (struct counts){ 0 };
	memcpy(g->event, present->event, g->options.n_events * sizeof(*g->event));
	for (size_t i = 0; i < g->options.n_events; i++)
		w->event[i].base = present->base[i];
	g->walk.stats = present->walk;
	g->own_labels.n_dropped = present->n_labels_dropped;
	stack_user_clear(&g->walk.user);
	stack_user_add(&g->walk.user, &present->user);
	g->app.stats = present->app;
	g->go.stats = present->go;
	g->functions.stats = present->functions;
	w->start_realtime_ns = present->start_realtime_ns;
	w->start_ns = present->start_ns;
	w->start_active_ns = present->start_active_ns;
	slice_done(present);
}

void slices_clear(struct slices *s)
{
	while (s->n)
		drop_oldest(s);
	s->since_ns = 0;
}
