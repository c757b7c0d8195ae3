/*
 * A profile in quanta adds up the time of each thread and counts it whenever the sum has reached a
 * whole quantum, at the place of that moment; the remainder is kept.  So no wait is too short to be
 * seen, and each sample has the same weight as one of a clock.
 */

#include "engine/waitcount.h"

#include "engine/engine.h"
#include "source/record.h"

#include <string.h>

/* The kinds of profiles whose sums are separate. */
enum { REST_OFF, REST_WALL, REST_LOCKS, REST_WAKERS };
_Static_assert(REST_WAKERS < WAITS_N_RESTS, "each needs a rest");

/* The labels of a thread whose stack is unknown. */
static uint32_t labels_of(struct engine *g, const struct waits_piece *p, uint32_t event)
{
	const struct record r = { .event = event, .cpu = UINT32_MAX };
	const struct procs_thread *t = procs_thread(&g->procs, p->pid, p->tid);
	return t && t->process ? samplelabels_own(&g->own_labels, t, NULL, &r) : 0;
}

static uint32_t with_waiter(struct engine *g, uint32_t labels, const struct waits_piece *p)
{
	const struct procs_thread *t = procs_thread(&g->procs, p->pid, p->tid);
	if (p->wakee != STACKS_NONE)
		labels = wakees_add(&g->wakees, labels, p->wakee);
	if (!t || !t->name)
		return labels;
	return samplelabels_with(&g->own_labels, labels, "waiter",
				 strtab_get(&g->strings, t->name));
}

/* Is the innermost function of the program one of that file? */
static bool waits_in(const struct engine *g, uint32_t stack, uint32_t dso)
{
	if (stack == STACKS_NONE)
		return false;
	while (stack != STACKS_EMPTY) {
		const struct stack_node *node = &g->stacks.v[stack];
		uint32_t of = g->frames.v[node->frame].dso;
		enum dso_kind kind = dso_get(&g->dsos, of)->key.kind;
		if (kind != DSO_KERNEL && kind != DSO_MODULE)
			return of == dso;
		stack = node->parent;
	}
	return false;
}

/* Is it a thread that a runtime keeps idle or wakes, while its tasks show who waits for whom? */
static bool is_idle_for_tasks(const struct engine *g, const struct waits_piece *p)
{
	uint32_t dso;
	return waits_tasks_has(&g->waits, p->pid, &dso) &&
	       (waits_in(g, p->at.stack, dso) || (p->is_wake && waits_in(g, p->wakee, dso)));
}

/* The roles of events whose profiles contain the piece. */
static unsigned wanted_by(const struct engine *g, const struct waits_piece *p)
{
	if (p->task_rest_ns)
		return WAITS_LOCKS;
	if (p->is_wake)
		return is_idle_for_tasks(g, p) ? 0 : WAITS_WAKERS;
	if (p->state == WAITS_RUNNING)
		return WAITS_RUN;
	bool is_woken = p->state == WAITS_RUNNABLE && !p->is_birth;
	bool is_blocked = p->state == WAITS_BLOCKED || p->state == WAITS_DISK || is_woken;
	bool is_lock = is_blocked && p->at.reason == WAITS_FOR_LOCK && !is_idle_for_tasks(g, p);
	return WAITS_OFF | (is_lock ? WAITS_LOCKS : 0);
}

static size_t rest_of(unsigned role)
{
	return role & WAITS_RUN ? REST_WALL : role & WAITS_OFF ? REST_OFF :
	       role & WAITS_LOCKS ? REST_LOCKS : REST_WAKERS;
}

/* What remains of the time is kept for the thread's next one. */
static void take_quanta(struct engine *g, const struct waits_piece *p, unsigned role,
			uint64_t quantum_ns, uint64_t *n, uint64_t *ns)
{
	struct waits_thread *t = p->task_rest_ns ? NULL : waits_find(&g->waits, p->tid);
	uint64_t *rest_ns = t ? &t->rest_ns[rest_of(role)] : p->task_rest_ns;
	uint64_t sum_ns = *ns + (rest_ns ? *rest_ns : 0);
	*n = sum_ns / quantum_ns;
	*ns = *n * quantum_ns;
	if (rest_ns)
		*rest_ns = sum_ns - *ns;
}

static void add_to_event(struct engine *g, const struct waits_piece *p, uint32_t i)
{
	struct waits_place at = p->at;
	uint64_t n = p->n, ns = p->ns;
	if (g->options.quantum_ns && g->options.quantum_ns[i])
		take_quanta(g, p, g->options.waits[i], g->options.quantum_ns[i], &n, &ns);
	g->event[i].n_unsampled += p->n_others;
	if (!n && !ns)
		return;
	g->event[i].torn_ns += p->is_torn ? ns : 0;
	if (!waits_is_known(at)) {
		at.stack = stack_walk_pseudo(&g->walk, g->walk.no_stack);
		at.labels = labels_of(g, p, i);
		g->event[i].no_stack_ns += ns;
	} else if (p->is_birth) {
		at.labels = labels_of(g, p, i);
	}
	at.labels = p->is_wake ? with_waiter(g, at.labels, p)
		    : samplelabels_with(&g->own_labels, at.labels, "state",
					waits_state_name(p->state));
	bool is_ready = p->task_rest_ns && p->state == WAITS_RUNNABLE;
	if (at.locks && !is_ready && g->options.waits[i] & (WAITS_LOCKS | WAITS_WAKERS))
		at.labels = labels_join(&g->labels, at.labels, at.locks);
	g->event[i].n_samples += n;
	g->event[i].value += ns;
	engine_count(g, i, at.stack, at.labels, n, ns);
}

void waitcount_add(void *ctx, const struct waits_piece *p)
{
	struct engine *g = ctx;
	unsigned wanted = wanted_by(g, p);
	for (uint32_t i = 0; i < g->options.n_events; i++) {
		unsigned role = g->options.waits[i];
		/* The profile of all time has short waits, too. */
		if (role & wanted && (!p->is_below || role & WAITS_RUN))
			add_to_event(g, p, i);
	}
}
