/*
 * Where an nmethod has its tables (codeBlob.hpp, nmethod.hpp of OpenJDK):
 *
 *	until JDK 22    all of it in the blob: metadata, scopes, PcDescs, dependencies ...
 *	from JDK 23     PcDescs, scopes ... in memory outside of the code cache
 *	from JDK 25     the metadata, too, after the relocations
 */

#include "symbolize/runtime/hotspot-tables.h"

#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>

#define TABLE_BYTES_MAX (1u << 20)
#define METADATA_MAX 8192u

struct range {
	uint64_t start, end;
};

/* A copy of a range; NULL: it cannot be read, or is no range. */
static void *copy_range(const struct runtime_memory *m, struct range r, uint32_t *ret_n_bytes)
{
	*ret_n_bytes = 0;
	if (!r.start || r.end <= r.start || r.end - r.start > TABLE_BYTES_MAX)
		return NULL;
	size_t n = (size_t)(r.end - r.start);
	void *p = malloc(n);
	if (p && !runtime_memory_read(m, r.start, p, n)) {
		free(p);
		p = NULL;
	}
	*ret_n_bytes = p ? (uint32_t)n : 0;
	return p;
}

/* Where the tables of the code are, whose header is b. */
struct tables {
	struct range pcs, scopes, metadata;
};

static struct range metadata_outside(const struct hotspot_layout *l, const uint8_t *b)
{
	uint64_t start = hotspot_get(b, l->blob_mutable);
	uint64_t end = start + hotspot_get(b, l->blob_mutable_size);
	uint64_t skip = l->code_metadata.n_bytes ? hotspot_get(b, l->code_metadata) :
		(hotspot_get(b, l->blob_relocation_size) + 7) & ~(uint64_t)7;
	return (struct range){ start ? start + skip : 0, end };
}

static struct tables find_tables(const struct hotspot_layout *l, uint64_t blob, const uint8_t *b)
{
	struct tables t = { .pcs.start = 0 };
	uint64_t scopes = hotspot_get(b, l->code_scopes), pcs = hotspot_get(b, l->code_pcs);
	uint64_t end = blob + hotspot_get(b, l->blob_size);
	if (l->code_immutable.n_bytes) {
		uint64_t at = hotspot_get(b, l->code_immutable);
		t.pcs = (struct range){ at + pcs, at + scopes };
		t.scopes = (struct range){ at + scopes,
					   at + hotspot_get(b, l->code_immutable_size) };
		if (l->blob_mutable.n_bytes)
			t.metadata = metadata_outside(l, b);
		else if (l->code_metadata.n_bytes && l->blob_data_off.n_bytes)
			t.metadata = (struct range){ blob + hotspot_get(b, l->blob_data_off) +
						     hotspot_get(b, l->code_metadata), end };
		return t;
	}
	uint64_t from = l->code_scopes_at.n_bytes ? hotspot_get(b, l->code_scopes_at)
						  : blob + scopes;
	t.pcs = (struct range){ blob + pcs, blob + hotspot_get(b, l->code_dependencies) };
	t.scopes = (struct range){ from, t.pcs.start };
	if (l->code_metadata.n_bytes)
		t.metadata = (struct range){ blob + hotspot_get(b, l->code_metadata), from };
	return t;
}

void hotspot_tables_read(const struct hotspot_layout *l, const struct runtime_memory *memory,
			 uint64_t blob, const uint8_t *b, struct hotspot_tables *ret)
{
	struct tables t = find_tables(l, blob, b);
	uint32_t n_bytes;
	if (t.metadata.end - t.metadata.start > 8 * METADATA_MAX)
		t.metadata.end = t.metadata.start + 8 * METADATA_MAX;
	ret->pcs = copy_range(memory, t.pcs, &ret->n_pcs_bytes);
	ret->scopes = ret->pcs ? copy_range(memory, t.scopes, &ret->n_scopes_bytes) : NULL;
	ret->metadata = ret->scopes ? copy_range(memory, t.metadata, &n_bytes) : NULL;
	if (!ret->metadata)
		return;
	ret->n_metadata = n_bytes / 8;
}

void hotspot_tables_done(struct hotspot_tables *t)
{
	free(t->pcs);
	free(t->scopes);
	free(t->metadata);
}
