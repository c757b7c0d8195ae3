/*
 * Without a filter in the kernel, events of threads are the cheapest scope, but may miss short
 * threads; events of CPUs see everything, and cost a sample for whatever else runs.  scopeswitch.c
 * decides, livescope.c does it.
 */

#include "recorder/kinds/kind-cpu.h"

#include "base/err.h"
#include "base/log.h"
#include "engine/engine.h"
#include "proc/procs.h"
#include "source/source.h"

#include <string.h>

/* Accounts of more processes would cost too much. */
#define PROCESSES_MAX 256u

/* The kernel's accounts of ended children are in ticks. */
#define ACCOUNT_ERROR_NS 10000000u

bool kind_cpu_scope_possible(const struct kind_session *k)
{
	const struct cprof_config *c = k->config;
	const struct kind_cpu *cpu = k->state;
	/* Without children there are no short threads; a program that records itself reads its
	 * rings too seldom to know. */
	bool possible = !c->no_inherit && !c->all_processes && c->self == CPROF_SELF_NONE &&
			c->callgraph != CPROF_CALLGRAPH_LBR;
	for (size_t i = 0; i < cpu->events.n; i++)
		possible &= !cpu->events.v[i].group && !cpu->events.v[i].pinned;
	return possible;
}

int kind_cpu_scope_init(struct kind_session *k, struct err *e)
{
	const struct cprof_config *c = k->config;
	struct kind_cpu *cpu = k->state;
	int r = coverage_init(&cpu->used, k->host, c->pid, c->n_pids, c->tid, c->n_tids,
			      c->command_pid, true, NULL);
	return r < 0 ? err_errno(e, -r, "cannot set up recording") : 0;
}

/* ---- what was seen ------------------------------------------------------------------ */

/* The event whose samples decide: a clock, if there is one. */
static size_t chosen_event(const struct kind_session *k)
{
	for (size_t i = 0; i < k->n_events; i++)
		if (k->event[i].is_clock)
			return i;
	return 0;
}

static struct scopeswitch_seen see(const struct kind_session *k, const struct engine *g,
				   size_t event, uint64_t now_ns)
{
	struct scopeswitch_seen s = { .now_ns = now_ns, .n_born = g->n_born };
	uint64_t n_lost = 0;
	for (size_t i = 0; i < k->n_events; i++) {
		const struct engine_event *ev = &g->event[i];
		s.n_foreign += ev->n_foreign;
		if (k->event[i].output != k->event[event].output)
			continue;
		s.n_samples += ev->n_samples;
		s.covered += ev->value;
		n_lost += ev->n_lost_records;
	}
	s.period = s.n_samples ? s.covered / s.n_samples : k->event[event].period;
	s.covered += n_lost * s.period;
	return s;
}

static size_t n_living(const struct procs *p)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_processes; i++)
		n += !p->process[i]->exited;
	return n;
}

static void read_accounts(const struct kind_session *k, const struct procs *procs,
			  struct scopeswitch_seen *s)
{
	const struct kind_cpu *c = k->state;
	size_t n = n_living(procs);
	if (n > PROCESSES_MAX)
		return;
	s->used_known = coverage_used(&c->used, procs, &s->used);
	s->used_error = n > 1 ? n * ACCOUNT_ERROR_NS : 0;
}

static void read_counters(const struct kind_session *k, size_t event, struct scopeswitch_seen *s)
{
	for (size_t i = 0; i < k->n_events; i++) {
		struct source_count count;
		if (k->event[i].output != k->event[event].output)
			continue;
		source_count(k->source, i, &count);
		s->counted += count.value;
	}
	s->counted_known = true;
}

static void read_amounts(const struct kind_session *k, size_t event, const struct procs *procs,
			 struct scopeswitch_seen *s)
{
	const struct kind_event *ev = &k->event[event];
	/* Accounts and the counters of clocks contain the time of both sides. */
	if (ev->is_clock && coverage_is_one_side(k->config, ev->name, ev->given_up_kernel))
		return;
	read_counters(k, event, s);
	if (ev->is_clock)
		read_accounts(k, procs, s);
}

/* ---- changes ------------------------------------------------------------------------ */

int kind_cpu_scope_change(struct kind_session *k, enum cprof_scope to, uint64_t now_ns,
			  const char *why, struct err *e)
{
	struct kind_cpu *c = k->state;
	int r = kind_cpu_replace_events(k, to, e);
	if (r < 0)
		return r;
	/* If memory is short, the change is only logged. */
	VEC_PUSH(&k->changes, ((struct cprof_scope_change){ now_ns, k->scope, to, why }));
	k->scope = to;
	k->was_cpu |= to == CPROF_SCOPE_CPU;
	/* With too many threads their size could not change. */
	c->copysize.is_fixed &= k->config->stack_bytes || !c->attr.stack_bytes;
	return 0;
}

static void change(struct kind_session *k, const struct scopeswitch_seen *seen, bool to_cpu,
		   unsigned percent)
{
	struct kind_cpu *c = k->state;
	struct err e;
	const char *why = to_cpu ? "short threads were not sampled" : "no short threads any more";
	int r = kind_cpu_scope_change(k, to_cpu ? CPROF_SCOPE_CPU : CPROF_SCOPE_TASK, seen->now_ns,
				      why, &e);
	if (r < 0) {
		log_line(k->log, LOG_EXPLAIN, "scope: still %s, although %s: %s",
			 to_cpu ? "task" : "cpu", to_cpu ? "short threads are not sampled"
							  : "there are no short threads", e.what);
		scopeswitch_failed(&c->scope, seen->now_ns);
		return;
	}
	if (to_cpu)
		log_line(k->log, LOG_EXPLAIN, "scope: cpu from now on: %s (%u %% of the CPU time)",
			 why, percent);
	else
		log_line(k->log, LOG_EXPLAIN, "scope: task from now on: %s", why);
	scopeswitch_changed(&c->scope, seen, to_cpu);
}

void kind_cpu_scope_drained(struct kind_session *k, const struct engine *g, uint64_t now_ns)
{
	struct kind_cpu *c = k->state;
	size_t event = chosen_event(k);
	unsigned percent;
	if (k->is_paused)
		scopeswitch_interrupt(&c->scope);
	if (k->is_paused || now_ns < g->window.start_ns || kind_cpu_is_replacing(k))
		return;
	struct scopeswitch_seen seen = see(k, g, event, now_ns);
	if (scopeswitch_wants_account(&c->scope, &seen)) {
		read_amounts(k, event, &g->procs, &seen);
	} else if (!c->scope.is_cpu) {
		return;
	}
	enum scopeswitch_verdict v = scopeswitch_look(&c->scope, &seen, &percent);
	if (v != SCOPESWITCH_STAY)
		change(k, &seen, v == SCOPESWITCH_TO_CPU, percent);
}

int kind_cpu_scope_timeout_ms(const struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	return c->may_change && !k->is_paused ? scopeswitch_timeout_ms(&c->scope) : -1;
}
