#include "agg/frames.h"

#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

static inline uint64_t hash_of(uint32_t dso, uint64_t vaddr)
{
	return hash_u64(vaddr ^ dso * UINT64_C(0x9e3779b97f4a7c15));
}

static bool grow(struct frames *f, bool always)
{
	return budget_grow_array(f->budget, (void **)&f->v, &f->cap, f->n, 1, sizeof(*f->v),
				 always) &&
	       hashindex_reserve(&f->index, always);
}

int frames_init(struct frames *f, struct budget *budget)
{
	*f = (struct frames){ .budget = budget, .index.budget = budget };
	if (grow(f, true))
		return 0;
	frames_done(f);
	return -ENOMEM;
}

void frames_done(struct frames *f)
{
	if (f->budget)
		budget_release(f->budget, f->cap * sizeof(*f->v));
	free(f->v);
	hashindex_done(&f->index);
	*f = (struct frames){ 0 };
}

uint32_t frames_add(struct frames *f, uint32_t dso, uint64_t vaddr, bool always)
{
	uint64_t hash = hash_of(dso, vaddr);
	uint32_t id = HASHINDEX_FIND(&f->index, hash, i,
				     f->v[i].vaddr == vaddr && f->v[i].dso == dso);
	if (id != HASHINDEX_NONE)
		return id;
	if (!grow(f, always))
		return FRAMES_NONE;
	id = f->n++;
	f->v[id] = (struct frame){ .vaddr = vaddr, .dso = dso };
	hashindex_put(&f->index, hash, id);
	return id;
}
