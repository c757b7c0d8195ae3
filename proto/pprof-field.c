/*
 * A known field with the wrong wire type is treated as damage, as other readers do.  The caller
 * skips fields with unknown numbers.
 *
 * Ids may be any numbers.  Nearly all writers use 1, 2, 3 ..., so that an id is an index; otherwise
 * the array gets a hash index.
 */

#include "proto/pprof-field.h"

#include "base/err.h"
#include "base/hash.h"
#include "proto/pprof-tables.h"

#include <errno.h>
#include <string.h>

void *pprof_field_alloc(struct pprof_reader *reader, size_t n, size_t item_bytes, size_t align)
{
	size_t n_bytes, total;
	if (__builtin_mul_overflow(n, item_bytes, &n_bytes) ||
	    __builtin_add_overflow(reader->n_allocated, n_bytes, &total) ||
	    total > PPROF_TABLES_BYTES_MAX) {
		reader->is_too_large = true;
		return NULL;
	}
	reader->n_allocated = total;
	return arena_alloc(&reader->arena, n, item_bytes, align);
}

int pprof_field_no_memory(struct pprof_reader *reader)
{
	if (reader->is_too_large)
		return err_set(reader->e, E2BIG, "a profile whose tables need more than %zu GiB of "
			       "memory", PPROF_TABLES_BYTES_MAX >> 30);
	return err_errno(reader->e, ENOMEM, "cannot hold the profile");
}

int pprof_field_bad(struct pprof_reader *reader, const uint8_t *at, const char *what)
{
	return err_set(reader->e, EINVAL, "not a valid profile: %s at byte %zu", what,
		       (size_t)(at - reader->start));
}

int pprof_field_uint(struct pprof_reader *reader, const struct bytes *at,
		     const struct wire_field *f, uint64_t *ret)
{
	if (f->type != WIRE_VARINT)
		return pprof_field_bad(reader, at->p,
				       "field of another type than a number, which ends");
	*ret = f->value;
	return 0;
}

int pprof_field_int(struct pprof_reader *reader, const struct bytes *at, const struct wire_field *f,
		    int64_t *ret)
{
	uint64_t v = 0;
	int r = pprof_field_uint(reader, at, f, &v);
	if (r < 0)
		return r;
	*ret = (int64_t)v;
	return 0;
}

int pprof_field_bool(struct pprof_reader *reader, const struct bytes *at,
		     const struct wire_field *f, bool *ret)
{
	uint64_t v = 0;
	int r = pprof_field_uint(reader, at, f, &v);
	if (r < 0)
		return r;
	*ret = v != 0;
	return 0;
}

static int copy_string(struct pprof_reader *reader, size_t i)
{
	const struct strtab_text *text = &reader->tables->text[i];
	char *s = PPROF_NEW(reader, char, text->n + 1);
	if (!s)
		return pprof_field_no_memory(reader);
	memcpy(s, text->s, text->n);
	reader->string[i] = s;
	return 0;
}

int pprof_field_string(struct pprof_reader *reader, const struct bytes *at,
		       const struct wire_field *f, const char **ret)
{
	uint64_t v = 0;
	int r = pprof_field_uint(reader, at, f, &v);
	if (r < 0)
		return r;
	if (v >= reader->n_strings)
		return pprof_field_bad(reader, at->p,
				       "reference to a string that does not exist, which ends");
	if (!reader->string[v] && (r = copy_string(reader, v)) < 0)
		return r;
	*ret = reader->string[v];
	return 0;
}

int pprof_field_body(struct pprof_reader *reader, const struct bytes *at,
		     const struct wire_field *f, struct bytes *ret)
{
	if (f->type != WIRE_BYTES)
		return pprof_field_bad(reader, at->p, "number where a message belongs, which ends");
	*ret = f->body;
	return 0;
}

int pprof_field_count(struct pprof_reader *reader, const struct bytes *at,
		      const struct wire_field *f, size_t *n)
{
	if (f->type == WIRE_VARINT) {
		(*n)++;
		return 0;
	}
	if (f->type != WIRE_BYTES)
		return pprof_field_bad(reader, at->p,
				       "field of another type than numbers, which ends");
	for (const uint8_t *p = f->body.p; p < f->body.end; p++)
		*n += *p < 0x80;
	if (bytes_left(&f->body) > 0 && f->body.end[-1] >= 0x80)
		return pprof_field_bad(reader, f->body.p, "truncated number in a packed field");
	return 0;
}

int pprof_field_number(struct pprof_reader *reader, const struct wire_field *f,
		       struct pprof_numbers *state, uint64_t *ret)
{
	if (f->type == WIRE_VARINT) {
		*ret = f->value;
		return state->begun ? 0 : (state->begun = true);
	}
	if (!state->begun)
		*state = (struct pprof_numbers){ .left = f->body, .begun = true };
	if (bytes_left(&state->left) == 0)
		return 0;
	*ret = wire_get_varint(&state->left);
	if (state->left.bad)
		return pprof_field_bad(reader, state->left.p, "number of more than ten bytes");
	return 1;
}

/* ---- ids ------------------------------------------------------------------ */

static uint64_t item_id(const struct pprof_ids *m, size_t i)
{
	return *(const uint64_t *)(const void *)(m->item + i * m->item_bytes);
}

const void *pprof_ids_find(const struct pprof_ids *m, uint64_t id)
{
	if (!m->has_gaps)
		return id - 1 < m->n ? m->item + (id - 1) * m->item_bytes : NULL;
	uint32_t i = HASHINDEX_FIND(&m->index, hash_u64(id), k, item_id(m, k) == id);
	return i != HASHINDEX_NONE ? m->item + i * m->item_bytes : NULL;
}

int pprof_ids_init(struct pprof_reader *reader, struct pprof_ids *m, const void *item,
		   size_t item_bytes, size_t n, const char *kind)
{
	*m = (struct pprof_ids){ .item = item, .item_bytes = item_bytes, .n = n };
	size_t i = 0;
	while (i < n && item_id(m, i) == i + 1)
		i++;
	if (i == n)
		return 0;
	m->has_gaps = true;
	for (i = 0; i < n; i++) {
		uint64_t id = item_id(m, i);
		if (id == 0)
			return err_set(reader->e, EINVAL,
				       "not a valid profile: %s %zu has no id, or the id 0", kind,
				       i + 1);
		if (pprof_ids_find(m, id))
			return err_set(reader->e, EINVAL,
				       "not a valid profile: two %ss have the id %llu", kind,
				       (unsigned long long)id);
		if (!hashindex_add(&m->index, hash_u64(id), (uint32_t)i))
			return pprof_field_no_memory(reader);
	}
	return 0;
}

void pprof_ids_done(struct pprof_reader *reader)
{
	hashindex_done(&reader->mappings.index);
	hashindex_done(&reader->functions.index);
	hashindex_done(&reader->locations.index);
}
