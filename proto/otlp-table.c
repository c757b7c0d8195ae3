#include "proto/otlp-table.h"

#include "base/hash.h"

#include <string.h>

void otlp_table_done(struct otlp_table *t)
{
	wire_done(&t->bytes);
	VEC_FREE(&t->entry);
	hashindex_done(&t->index);
}

static bool is_entry(const struct otlp_table *t, uint32_t i, const void *data, size_t n_bytes)
{
	return t->entry.v[i].n == n_bytes &&
	       memcmp(t->bytes.p + t->entry.v[i].at, data, n_bytes) == 0;
}

uint32_t otlp_table_add(struct otlp_table *t, const void *data, size_t n_bytes)
{
	if (n_bytes == 0 || t->failed)
		return 0;
	uint64_t hash = hash_bytes(data, n_bytes);
	uint32_t i = HASHINDEX_FIND(&t->index, hash, k, is_entry(t, k, data, n_bytes));
	if (i != HASHINDEX_NONE)
		return i + 1;
	i = (uint32_t)t->entry.n;
	if (i >= INT32_MAX - 1 || !VEC_RESERVE(&t->entry, 1) ||
	    !hashindex_reserve(&t->index, false) || !wire_reserve(&t->bytes, n_bytes)) {
		t->failed = true;
		return 0;
	}
	memcpy(t->bytes.p + t->bytes.n, data, n_bytes);
	t->entry.v[i].at = t->bytes.n;
	t->entry.v[i].n = n_bytes;
	t->entry.n++;
	t->bytes.n += n_bytes;
	hashindex_put(&t->index, hash, i);
	return i + 1;
}

void otlp_table_write(const struct otlp_table *t, struct wire *w, unsigned int field)
{
	wire_bytes(w, field, NULL, 0);
	for (size_t i = 0; i < t->entry.n; i++)
		wire_bytes(w, field, t->bytes.p + t->entry.v[i].at, t->entry.v[i].n);
}
