/*
 * A thread has moved if the scheduler has given it a CPU since the previous snapshot, even if it is
 * in the same place again.
 */

#include "cmd/snapshot/snapshot-repeat.h"

#include "base/hash.h"
#include "base/units.h"
#include "cmd/snapshot/snapshot-text.h"
#include "cprof-snapshot.h"

#include <errno.h>
#include <stdlib.h>

#define LISTED_MAX 50u

static struct snapshot_repeat_stack *stack_of(struct snapshot_repeat *s, uint32_t stack)
{
	uint64_t hash = hash_u64(stack);
	uint32_t at = HASHINDEX_FIND(&s->by_stack, hash, i, s->stacks.v[i].stack == stack);
	if (at != HASHINDEX_NONE)
		return &s->stacks.v[at];
	if (!hashindex_reserve(&s->by_stack, false) ||
	    !VEC_PUSH(&s->stacks, ((struct snapshot_repeat_stack){ .stack = stack })))
		return NULL;
	hashindex_put(&s->by_stack, hash, (uint32_t)s->stacks.n - 1);
	return &s->stacks.v[s->stacks.n - 1];
}

static struct snapshot_repeat_thread *thread_of(struct snapshot_repeat *s, uint32_t pid,
						uint64_t id)
{
	uint64_t hash = hash_u64(id ^ (uint64_t)pid << 32);
	uint32_t at = HASHINDEX_FIND(&s->by_id, hash, i,
				     s->threads.v[i].id == id && s->threads.v[i].pid == pid);
	if (at != HASHINDEX_NONE)
		return &s->threads.v[at];
	const struct snapshot_repeat_thread fresh = { .pid = pid, .id = id };
	if (!hashindex_reserve(&s->by_id, false) || !VEC_PUSH(&s->threads, fresh))
		return NULL;
	hashindex_put(&s->by_id, hash, (uint32_t)s->threads.n - 1);
	return &s->threads.v[s->threads.n - 1];
}

int snapshot_repeat_add(struct snapshot_repeat *s, const struct cprof_recorder *r)
{
	struct cprof_snapshot_entry e;
	s->n_snapshots++;
	for (size_t i = 0; i < cprof_snapshot_n_entries(r); i++) {
		cprof_snapshot_entry(r, i, &e);
		struct snapshot_repeat_stack *stack = stack_of(s, e.stack);
		struct snapshot_repeat_thread *t = thread_of(s, e.pid, e.id);
		if (!stack || !t)
			return -ENOMEM;
		stack->n++;
		s->n_seen++;
		if (e.has_runs && (!t->n_still || t->n_runs == e.n_runs))
			t->n_still++;
		t->n_runs = e.n_runs;
	}
	return 0;
}

void snapshot_repeat_done(struct snapshot_repeat *s)
{
	VEC_FREE(&s->stacks);
	VEC_FREE(&s->threads);
	hashindex_done(&s->by_stack);
	hashindex_done(&s->by_id);
}

static int compare_n(const void *a, const void *b)
{
	const struct snapshot_repeat_stack *x = a, *y = b;
	if (x->n != y->n)
		return (x->n < y->n) - (x->n > y->n);
	return (x->stack > y->stack) - (x->stack < y->stack);
}

/* In each snapshot, and never on a CPU from the first one to the last one? */
static bool is_still(struct snapshot_repeat *s, const struct cprof_snapshot_entry *e)
{
	const struct snapshot_repeat_thread *t = thread_of(s, e->pid, e->id);
	return t && t->n_still == s->n_snapshots;
}

static void print_still(FILE *to, struct snapshot_repeat *s, const struct cprof_recorder *r)
{
	struct cprof_snapshot_entry e;
	struct cprof_snapshot_window w;
	uint64_t n = 0;
	cprof_snapshot_window(r, &w);
	for (size_t i = 0; i < cprof_snapshot_n_entries(r); i++) {
		cprof_snapshot_entry(r, i, &e);
		n += is_still(s, &e);
	}
	fprintf(to, "\n# %llu %s did not move in all this time%s\n", (unsigned long long)n,
		w.is_task ? "goroutines" : "threads", n ? ":" : "");
	for (size_t i = 0, listed = 0; i < cprof_snapshot_n_entries(r) && listed < LISTED_MAX;
	     i++) {
		cprof_snapshot_entry(r, i, &e);
		if (!is_still(s, &e))
			continue;
		snapshot_text_entry(to, r, i, &e);
		listed++;
	}
	if (n > LISTED_MAX)
		fprintf(to, "and %llu more\n", (unsigned long long)n - LISTED_MAX);
}

void snapshot_repeat_print(FILE *to, struct snapshot_repeat *s, const struct cprof_recorder *r)
{
	struct cprof_snapshot_window w;
	cprof_snapshot_window(r, &w);
	fprintf(to, "# %llu snapshot%s, which saw %llu %s%s altogether; the last one:\n",
		(unsigned long long)s->n_snapshots, units_s(s->n_snapshots),
		(unsigned long long)s->n_seen, w.is_task ? "goroutine" : "thread",
		units_s(s->n_seen));
	snapshot_text_head(to, r);
	print_still(to, s, r);
	qsort(s->stacks.v, s->stacks.n, sizeof(*s->stacks.v), compare_n);
	for (size_t i = 0; i < s->stacks.n; i++) {
		fprintf(to, "\n%llu time%s (%.1f %%):\n", (unsigned long long)s->stacks.v[i].n,
			units_s(s->stacks.v[i].n),
			100.0 * (double)s->stacks.v[i].n / (double)s->n_seen);
		snapshot_text_stack(to, r, s->stacks.v[i].stack);
	}
}
