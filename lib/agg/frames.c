#include "agg/frames.h"

#include "agg/slots.h"
#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

static inline uint64_t hash_of(uint32_t dso, uint64_t vaddr)
{
	return hash_u64(vaddr ^ dso * UINT64_C(0x9e3779b97f4a7c15));
}

static bool hash_item(const void *table, uint32_t id, uint64_t *ret_hash)
{
	const struct frame *v = ((const struct frames *)table)->v;
	*ret_hash = hash_of(v[id].dso, v[id].vaddr);
	return true;
}

static bool grow(struct frames *f, bool always)
{
	return slots_grow_array(f->budget, (void **)&f->v, &f->cap, f->n, 1, sizeof(*f->v),
				always) &&
	       slots_grow(f->budget, &f->slot, &f->n_slots, f->n, f->n, hash_item, f, always);
}

int frames_init(struct frames *f, struct budget *budget)
{
	*f = (struct frames){ .budget = budget };
	if (grow(f, true))
		return 0;
	frames_done(f);
	return -ENOMEM;
}

void frames_done(struct frames *f)
{
	if (f->budget)
		budget_release(f->budget,
			       f->cap * sizeof(*f->v) + f->n_slots * sizeof(*f->slot));
	free(f->v);
	free(f->slot);
	*f = (struct frames){ 0 };
}

uint32_t frames_add(struct frames *f, uint32_t dso, uint64_t vaddr, bool always)
{
	uint64_t hash = hash_of(dso, vaddr);
	uint32_t i = (uint32_t)hash & (f->n_slots - 1);
	for (; f->slot[i]; i = (i + 1) & (f->n_slots - 1)) {
		const struct frame *have = &f->v[f->slot[i] - 1];
		if (have->vaddr == vaddr && have->dso == dso)
			return f->slot[i] - 1;
	}
	if (!grow(f, always))
		return FRAMES_NONE;
	uint32_t id = f->n++;
	f->v[id] = (struct frame){ .vaddr = vaddr, .dso = dso };
	slots_place(f->slot, f->n_slots, hash, id);
	return id;
}
