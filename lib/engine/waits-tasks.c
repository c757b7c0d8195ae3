/*
 * The time since the last reading counts where the present one shows a task: right on average,
 * because the distances of readings do not depend on tasks, and exact for a task that has not run
 * in between.  So the end of a wait is not known, but no task has more time than has passed.
 *
 * The wait of a task ends when it runs again.  Until then it may be ready for long, if all threads
 * are busy or have no CPU, and its own clock does not stop meanwhile.
 *
 * How often a task has left its thread since the last reading is known, but not why: each wait that
 * a reading meets is one of these, and the others were short waits, system calls, or the end of its
 * turn.  How many waits at a place no reading has met follows from how many of those that were met
 * were met twice.  If lengths are exponential, with mean m, and readings are T apart, then
 *
 *     a wait that was met is met again with the probability   p = exp(-T / m)
 *     a wait is met with the probability                      q = m / T * (1 - p)
 *
 * and n waits that were met stand for n / q.  If fewer are met a third time than p says, lengths
 * differ less, and so fewer are short enough not to be met.  No task has more unmet waits than the
 * number of times that it has left its thread; if it has fewer, its places share them.
 */

#include "engine/waits-tasks.h"

#include "base/budget.h"
#include "base/hash.h"
#include "engine/waits-sum.h"
#include "engine/waits.h"

#include <math.h>
#include <stdlib.h>

static struct waits_tasks_process *find_process(const struct waits *w, uint32_t pid)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		if (w->tasks.v[i].pid == pid)
			return &w->tasks.v[i];
	return NULL;
}

static struct waits_task *find_task(const struct waits_tasks_process *p, uint64_t id)
{
	uint32_t at = HASHINDEX_FIND(&p->by_id, hash_u64(id), i, p->task.v[i].id == id);
	return at == HASHINDEX_NONE ? NULL : &p->task.v[at];
}

bool waits_tasks_has(const struct waits *w, uint32_t pid, uint32_t *ret_dso)
{
	const struct waits_tasks_process *p = find_process(w, pid);
	if (p)
		*ret_dso = p->dso;
	return p != NULL;
}

/* ---- counting ------------------------------------------------------------------------------ */

/* What a task owes is counted with its time. */
static void count(struct waits *w, const struct waits_tasks_process *p, struct waits_task *t,
		  uint64_t ns, uint64_t now_ns)
{
	if (!ns)
		return;
	w->count(w->count_ctx, &(struct waits_piece){
		.pid = p->pid, .state = t->is_ready ? WAITS_RUNNABLE : WAITS_BLOCKED, .ns = ns,
		.n = t->n_owed, .at = t->at,
		.is_below = now_ns - t->began_ns < w->min_ns, .task_rest_ns = &t->rest_ns,
	});
	t->n_owed = 0;
}

static void settle(struct waits *w, struct waits_tasks_process *p, uint64_t now_ns)
{
	uint64_t ns = waits_sum_in_window(w, p->since_ns, now_ns);
	for (size_t i = 0; i < p->task.n; i++)
		if (p->task.v[i].is_waiting)
			count(w, p, &p->task.v[i], ns, now_ns);
	if (now_ns > p->since_ns)
		p->since_ns = now_ns;
}

void waits_tasks_settle(struct waits *w, uint64_t now_ns)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		settle(w, &w->tasks.v[i], now_ns);
}

/* ---- numbers of waits ---------------------------------------------------------------------- */

static struct waits_habit *find_habit(struct waits_task *t, uint32_t stack)
{
	struct waits_habit *least = &t->habit[0];
	for (unsigned i = 0; i < WAITS_HABITS_MAX; i++) {
		struct waits_habit *h = &t->habit[i];
		if (h->n_met[0] && h->stack == stack)
			return h;
		if (h->n_met[0] < least->n_met[0])
			least = h;
	}
	*least = (struct waits_habit){ .stack = stack };
	return least;
}

/* How many of its waits were probably not met. */
static double n_unmet(const struct waits_habit *h)
{
	if (!h->n_met[0])
		return 0;
	double p = (h->n_met[1] + 0.5) / (h->n_met[0] + 1.0);
	double q = -1 / log(p) * (1 - p);
	double again = (h->n_met[2] + 0.5) / (h->n_met[1] + 1.0);
	double part = again < p ? again / p : 1;
	return part * (h->n_met[0] / q - h->n_met[0]);
}

/* Those of a place that were not counted yet, as a whole number. */
static uint32_t take_unmet(struct waits_task *t, struct waits_habit *h)
{
	double all = 0;
	for (unsigned i = 0; i < WAITS_HABITS_MAX; i++)
		all += n_unmet(&t->habit[i]);
	double share = all > t->n_hidden ? t->n_hidden / all : 1;
	double n = floor(share * n_unmet(h) - (double)h->n_added);
	if (!(n >= 1))
		return 0;
	h->n_added += (float)n;
	return (uint32_t)n;
}

/* A reading meets a wait for the first time. */
static void meet(struct waits_task *t)
{
	struct waits_habit *h = find_habit(t, t->is_waiting ? t->at.stack : STACKS_NONE);
	t->n_met = 1;
	h->n_met[0]++;
	if (t->is_waiting)
		t->n_owed += 1 + take_unmet(t, h);
}

static void meet_again(struct waits_task *t)
{
	if (t->n_met < 3)
		find_habit(t, t->is_waiting ? t->at.stack : STACKS_NONE)->n_met[t->n_met++]++;
}

/* ---- readings ------------------------------------------------------------------------------ */

static size_t tasks_bytes(size_t cap)
{
	return cap * sizeof(struct waits_task);
}

bool waits_tasks_begin(struct waits *w, uint32_t pid, uint32_t dso, uint64_t from_ns,
		       uint64_t now_ns, struct waits_reading *ret)
{
	struct waits_tasks_process *p = find_process(w, pid);
	*ret = (struct waits_reading){ .waits = w, .now_ns = now_ns };
	if (!p) {
		const struct waits_tasks_process fresh = {
			.pid = pid, .dso = dso, .since_ns = from_ns, .by_id.budget = w->budget,
		};
		if (!VEC_PUSH(&w->tasks, fresh))
			return false;
		p = &w->tasks.v[w->tasks.n - 1];
	}
	p->dso = dso;
	w->has_tasks = true;
	ret->process = p;
	ret->ns = waits_sum_in_window(w, p->since_ns, now_ns);
	return true;
}

/* Without memory it is new at the next reading. */
static void keep(struct waits_reading *r, const struct waits_task *t)
{
	VEC_PUSH(&r->task, *t);
}

bool waits_tasks_continue(struct waits_reading *r, uint64_t id, uint8_t runs,
			  enum waits_task_state state)
{
	struct waits_task *t = find_task(r->process, id);
	if (!t || !t->is_waiting || t->runs != runs)
		return false;
	t->is_ready = state == WAITS_TASK_READY;
	if (!t->is_ready)
		meet_again(t);
	count(r->waits, r->process, t, r->ns, r->now_ns);
	keep(r, t);
	return true;
}

void waits_tasks_add(struct waits_reading *r, const struct waits_task_seen *seen)
{
	const struct waits_task *old = find_task(r->process, seen->id);
	struct waits_task t = old ? *old : (struct waits_task){ .id = seen->id };
	uint8_t n_left = old ? (uint8_t)(seen->runs - old->runs) : 0;
	bool was_elsewhere = old && !old->is_waiting && old->is_met;
	t.runs = seen->runs;
	t.at = seen->at;
	t.is_waiting = seen->state == WAITS_TASK_LOCKED || seen->state == WAITS_TASK_READY;
	t.is_ready = seen->state == WAITS_TASK_READY;
	t.is_met = seen->state != WAITS_TASK_RUNS;
	if (!t.is_waiting && was_elsewhere && t.is_met && !n_left) {
		meet_again(&t);
	} else {
		/* The last time that it left its thread, it began to wait here. */
		t.n_hidden += n_left - (t.is_met && n_left);
		t.n_met = 0;
		t.began_ns = r->now_ns;
		if (t.is_met)
			meet(&t);
	}
	if (t.is_waiting)
		count(r->waits, r->process, &t, r->ns, r->now_ns);
	keep(r, &t);
}

void waits_tasks_end(struct waits_reading *r)
{
	struct waits_tasks_process *p = r->process;
	budget_release(r->waits->budget, tasks_bytes(p->task.cap));
	VEC_FREE(&p->task);
	hashindex_done(&p->by_id);
	p->task.v = r->task.v;
	p->task.n = r->task.n;
	p->task.cap = r->task.cap;
	budget_charge_always(r->waits->budget, tasks_bytes(p->task.cap));
	for (uint32_t i = 0; i < p->task.n; i++)
		if (hashindex_reserve(&p->by_id, true))
			hashindex_put(&p->by_id, hash_u64(p->task.v[i].id), i);
	if (r->now_ns > p->since_ns)
		p->since_ns = r->now_ns;
}

/* ---- ends ---------------------------------------------------------------------------------- */

static void free_process(struct waits *w, struct waits_tasks_process *p)
{
	if (w->budget)
		budget_release(w->budget, tasks_bytes(p->task.cap));
	VEC_FREE(&p->task);
	hashindex_done(&p->by_id);
}

void waits_tasks_forget(struct waits *w, uint32_t pid, uint64_t time_ns)
{
	struct waits_tasks_process *p = find_process(w, pid);
	if (!p)
		return;
	settle(w, p, time_ns);
	free_process(w, p);
	*p = w->tasks.v[--w->tasks.n];
}

static void each_place_of(struct waits_task *t, void (*each)(void *ctx, struct waits_place *at),
			  void *ctx)
{
	if (t->is_waiting)
		each(ctx, &t->at);
	for (unsigned i = 0; i < WAITS_HABITS_MAX; i++) {
		struct waits_place at = waits_nowhere;
		if (!t->habit[i].n_met[0] || t->habit[i].stack == STACKS_NONE)
			continue;
		at.stack = t->habit[i].stack;
		each(ctx, &at);
		t->habit[i].stack = at.stack;
	}
}

void waits_tasks_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at),
			    void *ctx)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		for (size_t k = 0; k < w->tasks.v[i].task.n; k++)
			each_place_of(&w->tasks.v[i].task.v[k], each, ctx);
}

void waits_tasks_done(struct waits *w)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		free_process(w, &w->tasks.v[i]);
	VEC_FREE(&w->tasks);
}
