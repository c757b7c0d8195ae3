#include "interp/interp-copies.h"

#include "interp/interp-ops.h"
#include "stack/stack-regs.h"

#include <string.h>

/* Calls after a sample use the stack below its copy. */
#define BELOW_BYTES 262144u

const struct runtime_copy *interp_copies_find(struct interp_copies *c, uint32_t cpu, uint32_t tid,
					      uint64_t time_ns, const struct stack_regs_walk *w)
{
	if (!c->find || !c->find(c->ctx, cpu, tid, time_ns, &c->present))
		return NULL;
	c->present.stack_at = w->stack_at;
	c->present.n_stack_bytes = w->n_stack_bytes;
	c->present.stack = w->stack;
	return &c->present;
}

static bool is_on_stack(const struct stack_regs_walk *w, uint64_t part)
{
	return w->n_stack_bytes && part + BELOW_BYTES >= w->stack_at &&
	       part < w->stack_at + w->n_stack_bytes;
}

static bool has(const uint64_t *at, uint32_t n, uint64_t part)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == part)
			return true;
	return false;
}

/* The parts that were used and must be copied; returns how many there are. */
static uint32_t list_used(const struct interp_runtime *r, const struct stack_regs_walk *w,
			  uint64_t ret[RUNTIME_COPY_PARTS])
{
	uint64_t used[2 * RUNTIME_COPY_PARTS];
	uint32_t n = 0;
	size_t n_used = runtime_pages_used(r->frame_pages, used, 2 * RUNTIME_COPY_PARTS);
	for (size_t i = 0; i < n_used && n < RUNTIME_COPY_PARTS; i++)
		if (!is_on_stack(w, used[i]))
			ret[n++] = used[i];
	return n;
}

void interp_copies_want(struct interp_copies *c, const struct interp_runtime *r, uint32_t tid,
			const struct stack_regs_walk *w)
{
	struct interp_copies_thread *t = &c->thread[tid % INTERP_COPIES_THREADS];
	uint64_t at[RUNTIME_COPY_PARTS];
	if (!c->want || !r->frame_pages)
		return;
	uint32_t n_known = 0, n = list_used(r, w, at);
	if (t->tid != tid)
		*t = (struct interp_copies_thread){ .tid = tid };
	for (uint32_t i = 0; i < n; i++)
		n_known += has(t->at, t->n, at[i]);
	if (n_known == n)
		return;
	for (uint32_t i = 0; i < t->n && n < RUNTIME_COPY_PARTS; i++)
		if (!has(at, n, t->at[i]))
			at[n++] = t->at[i];
	memcpy(t->at, at, n * sizeof(*at));
	t->n = n;
	if (!c->want(c->ctx, tid, at, n))
		t->tid = 0;
}
