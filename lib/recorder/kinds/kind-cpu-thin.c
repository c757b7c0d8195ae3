/*
 * Samples fewer switches if there are more than the user wants stacks for; waitrate.c decides.
 *
 * The period of an event can be changed while it runs, but not that of the copies of it which
 * threads and children have inherited already.  Switching an event on and off does reach these.  So
 * where a command is recorded with inherited events, all its switches are sampled in short bursts,
 * and none between them.  The records of switches then come from the side band, which goes on.
 *
 * Bursts are of different distances, so that they do not fall into step with the program.
 */

#include "recorder/kinds/kind-cpu.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "engine/engine.h"
#include "source/source.h"

#define NO_EVENT UINT32_MAX
#define BURST_NS 2000000u
#define BURST_PERIOD_MAX 101u

static struct kind_cpu_waits *waits_of(const struct kind_session *k)
{
	return &((struct kind_cpu *)k->state)->waits;
}

/* Which the events have from the start, so that threads and children inherit it. */
static void use_period(struct kind_cpu *c, struct kind_cpu_thin *t)
{
	if (t->event == NO_EVENT)
		return;
	c->events.v[t->event].rate = c->one_of;
	t->rate.period = t->rate.period_max = c->one_of;
}

static void use_one_of(struct kind_session *k)
{
	use_period(k->state, &waits_of(k)->switches);
	use_period(k->state, &waits_of(k)->wakes);
}

void kind_cpu_thin_choose(struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	struct kind_cpu_waits *w = waits_of(k);
	uint64_t limit_hz = k->config->switch_rate_max ? k->config->switch_rate_max
						       : WAITRATE_HZ_DEFAULT;
	w->random = 1;
	w->switches.event = w->only_looks ? NO_EVENT : w->event;
	w->wakes.event = NO_EVENT;
	waitrate_init(&w->switches.rate, limit_hz);
	waitrate_init(&w->wakes.rate, limit_hz);
	for (size_t i = 0; i < c->events.n; i++)
		if (c->events.v[i].has_raw)
			w->wakes.event = (uint32_t)i;
	if (c->one_of)
		use_one_of(k);
}

void kind_cpu_thin_use_bursts(struct kind_session *k)
{
	struct kind_cpu *c = k->state;
	c->waits.in_bursts = k->scope == CPROF_SCOPE_TASK && k->config->command_pid &&
			     !k->config->no_inherit && kind_cpu_waits_any(c) &&
			     !c->waits.only_looks && !c->one_of;
	c->attr.want_switches = c->waits.in_bursts;
	for (size_t i = 0; i < c->events.n; i++)
		c->events.v[i].has_switches &= !c->waits.in_bursts;
}

/* ---- by the period ----------------------------------------------------------------------- */

static uint64_t n_samples(const struct engine *g, const struct kind_cpu_thin *t)
{
	const struct engine_event *ev = &g->event[t->event];
	return ev->n_placed + ev->n_foreign;
}

/* Many changes may follow: only a new maximum is worth a line. */
static void explain(const struct kind_session *k, const struct kind_cpu_thin *t, uint64_t was_max)
{
	if (t->rate.period_max > was_max)
		log_line(k->log, LOG_EXPLAIN, "event '%s': one of %llu switches is sampled",
			 k->event[t->event].name, (unsigned long long)t->rate.period);
}

static void change_period(struct kind_session *k, const struct engine *g, struct kind_cpu_thin *t,
			  uint64_t now_ns)
{
	uint64_t was = t->rate.period, was_max = t->rate.period_max, period;
	struct err ignored;
	if (!waitrate_step(&t->rate, n_samples(g, t), now_ns, &period))
		return;
	int r = source_set_rate(k->source, t->event, period, &ignored);
	waitrate_changed(&t->rate, r < 0 ? was : period, clock_monotonic_ns() - now_ns);
	explain(k, t, was_max);
}

/* ---- in bursts --------------------------------------------------------------------------- */

/* In [0.75, 1.25) of it. */
static uint64_t vary(struct kind_cpu_waits *w, uint64_t ns)
{
	w->random = w->random * 1664525u + 1013904223u;
	return ns / 4 * 3 + ns / 2 * (w->random >> 16) / 65536;
}

static void begin_burst(const struct engine *g, struct kind_cpu_thin *t, uint64_t now_ns)
{
	t->is_off = false;
	t->began_ns = now_ns;
	t->n_began = n_samples(g, t);
	t->until_ns = now_ns + BURST_NS;
}

static void change_burst(struct kind_session *k, const struct engine *g, struct kind_cpu_thin *t,
			 uint64_t now_ns)
{
	struct err ignored;
	uint64_t was_max = t->rate.period_max, n = n_samples(g, t), ns = now_ns - t->began_ns;
	if (now_ns < t->until_ns)
		return;
	if (!t->began_ns || t->is_off || n < t->n_began) {
		if (!t->is_off || source_resume(k->source, t->event, &ignored) == 0)
			begin_burst(g, t, now_ns);
		return;
	}
	uint64_t period = waitrate_period(&t->rate, n - t->n_began, ns);
	period = period < BURST_PERIOD_MAX ? period : BURST_PERIOD_MAX;
	if (period == 1 || source_pause(k->source, t->event, &ignored) < 0) {
		period = 1;
		begin_burst(g, t, now_ns);
	} else {
		t->is_off = true;
		t->until_ns = now_ns + vary(waits_of(k), ns * (period - 1));
	}
	waitrate_changed(&t->rate, period, 0);
	explain(k, t, was_max);
}

/* ---- both -------------------------------------------------------------------------------- */

static void change(struct kind_session *k, const struct engine *g, struct kind_cpu_thin *t)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (t->event == NO_EVENT)
		return;
	if (waits_of(k)->in_bursts)
		change_burst(k, g, t, now_ns);
	else
		change_period(k, g, t, now_ns);
}

void kind_cpu_thin_drained(struct kind_session *k, struct engine *g)
{
	const struct kind_cpu *c = k->state;
	struct kind_cpu_waits *w = waits_of(k);
	if (!c->one_of) {
		change(k, g, &w->switches);
		change(k, g, &w->wakes);
	}
	g->waits.is_thinned = w->switches.rate.period > 1;
	g->waits.wake_scale = w->in_bursts ? w->wakes.rate.period : 1;
}

static int until_ms(const struct kind_cpu_waits *w, const struct kind_cpu_thin *t, uint64_t now_ns)
{
	if (t->event == NO_EVENT || t->rate.period == 1)
		return -1;
	if (!w->in_bursts)
		return 1000;
	return t->until_ns > now_ns ? (int)((t->until_ns - now_ns) / 1000000u) + 1 : 1;
}

int kind_cpu_thin_timeout_ms(const struct kind_session *k)
{
	const struct kind_cpu_waits *w = waits_of(k);
	uint64_t now_ns = clock_monotonic_ns();
	int a = until_ms(w, &w->switches, now_ns), b = until_ms(w, &w->wakes, now_ns);
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

void kind_cpu_thin_stats(const struct kind_session *k, struct cprof_stats *ret)
{
	const struct kind_cpu *c = k->state;
	if (!kind_cpu_waits_any(c))
		return;
	if (!c->waits.only_looks)
		ret->switch_period_max = c->waits.switches.rate.period_max;
	ret->waits_from = c->waits.only_polls ? "/proc alone, every 10 ms" :
			  c->waits.only_looks ? "records of switches, and stacks from /proc" :
			  "samples of switches";
}
