/*
 * Until its previous poll the thread waited where it was seen then, since it had not run.  Between
 * two polls only sums are known: how long it ran and how long it waited for a CPU, by the
 * scheduler's account.  The rest it was blocked, half of it where the first poll saw it and half
 * where the second one did.
 */

#include "engine/waits-polls.h"

#include "engine/waits.h"

static void count(struct waits *w, const struct waits_thread *t, enum waits_state state,
		  struct waits_place at, uint64_t ns, uint64_t n)
{
	const struct waits_piece p = {
		.pid = t->pid, .tid = t->tid, .state = state, .ns = ns, .n = n, .at = at,
	};
	if (ns)
		w->count(w->count_ctx, &p);
}

static enum waits_state state_at(struct waits_place at, bool is_disk)
{
	return is_disk || at.reason == WAITS_FOR_DISK ? WAITS_DISK :
	       at.reason == WAITS_FOR_TIME ? WAITS_SLEEPING : WAITS_BLOCKED;
}

/* What happened between the polls, as far as it is in the window. */
static void count_between(struct waits *w, const struct waits_thread *t,
			  const struct waits_look *poll)
{
	uint64_t since_ns = poll->since_ns > t->since_ns ? poll->since_ns : t->since_ns;
	uint64_t from_ns = since_ns > w->start_ns ? since_ns : w->start_ns;
	uint64_t to_ns = poll->to_ns < w->end_ns ? poll->to_ns : w->end_ns;
	uint64_t ns = to_ns > from_ns ? to_ns - from_ns : 0;
	uint64_t run_ns = poll->run_ns < ns ? poll->run_ns : ns;
	uint64_t ready_ns = poll->ready_ns < ns - run_ns ? poll->ready_ns : ns - run_ns;
	uint64_t blocked_ns = ns - run_ns - ready_ns;
	struct waits_place before = t->is == WAITS_OFF_CPU ? t->at : waits_nowhere;
	struct waits_place after = poll->is_waiting ? poll->at : before;
	if (!waits_is_known(before))
		before = after;
	if (w->has_clock)
		count(w, t, WAITS_RUNNING, waits_nowhere, run_ns, 0);
	count(w, t, WAITS_RUNNABLE, after, ready_ns, 0);
	count(w, t, state_at(before, t->look.is_disk), before, blocked_ns / 2, 0);
	count(w, t, state_at(after, poll->is_disk), after, blocked_ns - blocked_ns / 2,
	      poll->n_runs);
}

void waits_polls_add(struct waits *w, const struct waits_look *poll)
{
	struct waits_thread *t = waits_find(w, poll->tid);
	if (!t || t->pid != poll->pid) {
		waits_add_thread(w, poll->pid, poll->tid);
		t = waits_find(w, poll->tid);
		if (!t)
			return;
		t->since_ns = poll->since_ns;
	}
	bool is_first = t->is == WAITS_UNKNOWN;
	if (t->is == WAITS_OFF_CPU && poll->is_waiting && !poll->run_ns && !poll->n_runs) {
		t->at = poll->at;  /* of the same wait */
		return;
	}
	if (!is_first)
		waits_count_until(w, t, poll->since_ns);
	count_between(w, t, poll);
	t->since_ns = t->began_ns = poll->to_ns;
	t->is = poll->is_waiting ? WAITS_OFF_CPU : WAITS_ON_CPU;
	t->at = poll->is_waiting ? poll->at : waits_nowhere;
	t->is_counted = !is_first;
	t->is_out = true;
	t->look = *poll;
	t->look.from_ns = poll->to_ns;
}
