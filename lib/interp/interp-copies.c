#include "interp/interp-copies.h"

#include "interp/interp-ops.h"

#include <string.h>

const struct runtime_copy *interp_copies_find(struct interp_copies *c, uint32_t cpu, uint32_t tid,
					      uint64_t time_ns)
{
	return c->find && c->find(c->ctx, cpu, tid, time_ns, &c->present) ? &c->present : NULL;
}

static bool has(const uint64_t *at, uint32_t n, uint64_t part)
{
	for (uint32_t i = 0; i < n; i++)
		if (at[i] == part)
			return true;
	return false;
}

void interp_copies_want(struct interp_copies *c, const struct interp_runtime *r, uint32_t tid)
{
	struct interp_copies_thread *t = &c->thread[tid % INTERP_COPIES_THREADS];
	uint64_t at[RUNTIME_COPY_PARTS];
	if (!c->want || !r->frame_pages)
		return;
	uint32_t n_known = 0;
	uint32_t n = (uint32_t)runtime_pages_used(r->frame_pages, at, RUNTIME_COPY_PARTS);
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
