/*
 * The time since the last reading counts where the present one shows a task: right on average,
 * because the distances of readings do not depend on tasks, and exact for a task that has not run
 * in between.  So the end of a wait is not known, but no task has more time than has passed.
 *
 * The wait of a task ends when it runs again.  Until then it may be ready for long, if all threads
 * are busy or have no CPU, and its own clock does not stop meanwhile.
 *
 * How often a task has left its thread since the last reading is how many waits it has begun.  They
 * count where the next reading shows it waiting, so that no wait is missing; if it waits at several
 * places, each has a share by its time.
 */

#include "engine/waits-tasks.h"

#include "base/budget.h"
#include "base/hash.h"
#include "engine/waits-sum.h"
#include "engine/waits.h"

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
	count(r->waits, r->process, t, r->ns, r->now_ns);
	keep(r, t);
	return true;
}

void waits_tasks_add(struct waits_reading *r, const struct waits_task_seen *seen)
{
	const struct waits_task *old = find_task(r->process, seen->id);
	struct waits_task t = {
		.id = seen->id, .runs = seen->runs, .began_ns = r->now_ns, .at = seen->at,
		.is_waiting = seen->state == WAITS_TASK_LOCKED || seen->state == WAITS_TASK_READY,
		.is_ready = seen->state == WAITS_TASK_READY,
		.n_owed = old ? old->n_owed + (uint8_t)(seen->runs - old->runs) : 1,
		.rest_ns = old ? old->rest_ns : 0,
	};
	if (t.is_waiting)
		count(r->waits, r->process, &t, r->ns, r->now_ns);
	else if (seen->state == WAITS_TASK_ELSEWHERE)
		t.n_owed = 0;
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

void waits_tasks_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at),
			    void *ctx)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		for (size_t k = 0; k < w->tasks.v[i].task.n; k++)
			if (w->tasks.v[i].task.v[k].is_waiting)
				each(ctx, &w->tasks.v[i].task.v[k].at);
}

void waits_tasks_done(struct waits *w)
{
	for (size_t i = 0; i < w->tasks.n; i++)
		free_process(w, &w->tasks.v[i]);
	VEC_FREE(&w->tasks);
}
