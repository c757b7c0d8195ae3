#include "view/html/html-tables.h"

#include "base/hash.h"

#include <string.h>

uint32_t html_string(struct html_tables *t, const char *s)
{
	uint32_t id = strtab_add_cstr(&t->strings, s);
	t->failed = t->failed || (id == 0 && s[0]);
	return id;
}

static bool same_frame(const struct html_frame *x, const struct html_frame *y)
{
	return x->name == y->name && x->file == y->file && x->module == y->module &&
	       x->flags == y->flags && x->line == y->line;
}

uint32_t html_add_frame(struct html_tables *t, struct html_frame f)
{
	uint64_t hash = hash_pair(hash_pair((uint64_t)f.name << 32 | f.file,
					    (uint64_t)f.module << 32 | f.flags), (uint64_t)f.line);
	uint32_t i = HASHINDEX_FIND(&t->by_frame, hash, k, same_frame(&t->frames.v[k], &f));
	if (i != HASHINDEX_NONE)
		return i;
	i = (uint32_t)t->frames.n;
	if (!VEC_PUSH(&t->frames, f) || !hashindex_add(&t->by_frame, hash, i))
		t->failed = true;
	return i;
}

uint32_t html_add_label(struct html_tables *t, struct html_label l)
{
	uint64_t hash = hash_u64((uint64_t)l.key << 32 | l.value);
	uint32_t i = HASHINDEX_FIND(&t->by_label, hash, k,
				    t->labels.v[k].key == l.key && t->labels.v[k].value == l.value);
	if (i != HASHINDEX_NONE)
		return i;
	i = (uint32_t)t->labels.n;
	if (!VEC_PUSH(&t->labels, l) || !hashindex_add(&t->by_label, hash, i))
		t->failed = true;
	return i;
}

uint32_t html_add_set(struct html_tables *t, size_t first)
{
	size_t n = t->items.n - first, n_bytes = n * sizeof(uint32_t);
	const uint32_t *new = n > 0 ? t->items.v + first : NULL;
	uint64_t hash = n > 0 ? hash_bytes(new, n_bytes) : 0;
	uint32_t i = HASHINDEX_FIND(&t->by_set, hash, k, t->sets.v[k].n == n &&
				    (n == 0 || memcmp(t->items.v + t->sets.v[k].first, new,
						      n_bytes) == 0));
	if (i != HASHINDEX_NONE) {
		t->items.n = first;
		return i;
	}
	i = (uint32_t)t->sets.n;
	if (!VEC_PUSH(&t->sets, ((struct html_label_set){ (uint32_t)first, (uint32_t)n })) ||
	    !hashindex_add(&t->by_set, hash, i))
		t->failed = true;
	return i;
}

void html_tables_done(struct html_tables *t)
{
	strtab_done(&t->strings);
	VEC_FREE(&t->frames);
	VEC_FREE(&t->labels);
	VEC_FREE(&t->sets);
	VEC_FREE(&t->items);
	hashindex_done(&t->by_frame);
	hashindex_done(&t->by_label);
	hashindex_done(&t->by_set);
}
