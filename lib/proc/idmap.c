/*
 * Ids are handed out nearly in sequence; a multiplicative hash (Fibonacci) spreads them over the
 * table without the cost of a full mixer, since each sample needs a look-up.
 */

#include "proc/idmap.h"

static uint64_t hash_of(uint32_t id)
{
	return id * UINT64_C(0x9e3779b97f4a7c15);
}

/* The number of id's item, or HASHINDEX_NONE. */
static uint32_t find(const struct idmap *m, uint32_t id)
{
	return HASHINDEX_FIND(&m->index, hash_of(id), i, m->item.v[i].id == id);
}

void idmap_done(struct idmap *m)
{
	hashindex_done(&m->index);
	VEC_FREE(&m->item);
}

bool idmap_put(struct idmap *m, uint32_t id, void *value)
{
	uint32_t i = find(m, id);
	if (i != HASHINDEX_NONE) {
		m->item.v[i].value = value;
		return true;
	}
	if (!hashindex_reserve(&m->index, false) ||
	    !VEC_PUSH(&m->item, ((struct idmap_item){ id, value })))
		return false;
	hashindex_put(&m->index, hash_of(id), (uint32_t)m->item.n - 1);
	return true;
}

void *idmap_make(struct idmap *m, uint32_t id, size_t n_bytes)
{
	void *value = idmap_get(m, id);
	if (value)
		return value;
	value = calloc(1, n_bytes);
	if (value && idmap_put(m, id, value))
		return value;
	free(value);
	return NULL;
}

void *idmap_get(const struct idmap *m, uint32_t id)
{
	uint32_t i = find(m, id);
	return i == HASHINDEX_NONE ? NULL : m->item.v[i].value;
}

void idmap_remove(struct idmap *m, uint32_t id)
{
	uint32_t i = find(m, id);
	if (i == HASHINDEX_NONE)
		return;
	hashindex_remove(&m->index, hash_of(id), i);
	uint32_t last = (uint32_t)--m->item.n;
	if (i == last)
		return;
	m->item.v[i] = m->item.v[last];
	hashindex_remove(&m->index, hash_of(m->item.v[i].id), last);
	hashindex_put(&m->index, hash_of(m->item.v[i].id), i);
}
