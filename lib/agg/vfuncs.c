#include "agg/vfuncs.h"

#include "base/budget.h"
#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>

int vfuncs_init(struct vfuncs *f, struct budget *budget)
{
	*f = (struct vfuncs){ .budget = budget, .index.budget = budget };
	return strtab_init(&f->strings, budget);
}

void vfuncs_done(struct vfuncs *f)
{
	if (f->budget)
		budget_release(f->budget, f->cap * sizeof(*f->v));
	if (f->strings.str)
		strtab_done(&f->strings);
	free(f->v);
	hashindex_done(&f->index);
	*f = (struct vfuncs){ .budget = NULL };
}

uint32_t vfuncs_add(struct vfuncs *f, const char *name, const char *file, uint32_t first_line)
{
	struct vfunc x = { .first_line = first_line };
	/* strings are charged even beyond the limit */
	if (f->budget && f->budget->limit_bytes && f->budget->used_bytes > f->budget->limit_bytes)
		return VFUNCS_NONE;
	x.name = strtab_add_cstr(&f->strings, name);
	x.file = strtab_add_cstr(&f->strings, file);
	uint64_t hash = hash_pair(hash_pair(x.name, x.file), first_line);
	uint32_t id = HASHINDEX_FIND(&f->index, hash, i,
				     f->v[i].name == x.name && f->v[i].file == x.file &&
				     f->v[i].first_line == first_line);
	if (id != HASHINDEX_NONE)
		return id;
	if (!x.name || !budget_grow_array(f->budget, (void **)&f->v, &f->cap, f->n, 1,
					  sizeof(*f->v), false) ||
	    !hashindex_reserve(&f->index, false))
		return VFUNCS_NONE;
	id = f->n++;
	f->v[id] = x;
	hashindex_put(&f->index, hash, id);
	return id;
}

bool vfuncs_copy(struct vfuncs *to, const struct vfuncs *from, uint64_t *vaddr)
{
	uint32_t line;
	const struct vfunc *f = vfuncs_at(from, *vaddr, &line);
	uint32_t id = f ? vfuncs_add(to, strtab_get(&from->strings, f->name),
				     strtab_get(&from->strings, f->file), f->first_line)
			: VFUNCS_NONE;
	*vaddr = vfuncs_vaddr(id, line);
	return id != VFUNCS_NONE;
}
