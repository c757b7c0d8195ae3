#ifndef CPROF_PROTO_PPROF_FIELD_H
#define CPROF_PROTO_PPROF_FIELD_H

/*
 * Part of the profile reader: its state, and reading fields with the type that they must have.  All
 * functions return 0 (unless stated otherwise), or -errno with the reader's `e` set.
 */

#include "base/arena.h"
#include "base/hashindex.h"
#include "proto/pprof-tags.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct pprof_tables;
struct profile;

/* Finds items by id; an item begins with its uint64_t id. */
struct pprof_ids {
	const char *item;
	size_t item_bytes, n;
	bool has_gaps;            /* else id - 1 is the index in the array */
	struct hashindex index;
};

struct pprof_reader {
	const uint8_t *start;
	struct bytes all;
	struct profile *p;
	struct arena_block *arena;
	size_t count[PPROF_PROFILE_N_TAGS];   /* items in each field of Profile */
	size_t done[PPROF_PROFILE_N_TAGS];    /* those read so far */
	/* From the first item of a kind to the last; usually they are contiguous. */
	struct bytes range[PPROF_PROFILE_N_TAGS];
	struct pprof_tables *tables;          /* NULL: all is in p */
	const char **string;                  /* with tables: NULL if not yet used */
	size_t n_strings;
	struct pprof_ids mappings, functions, locations;
	size_t n_allocated;
	bool is_too_large;
	struct err *e;
};

/* What the arrays and strings of a profile may need; a crafted file has thousands of items in few
 * bytes. */
#define PPROF_TABLES_BYTES_MAX ((size_t)2 << 30)

/* Zeroed memory in the reader's arena; NULL: the caller returns pprof_field_no_memory. */
void *pprof_field_alloc(struct pprof_reader *reader, size_t n, size_t item_bytes, size_t align);
#define PPROF_NEW(reader, T, n) ((T *)pprof_field_alloc((reader), (n), sizeof(T), _Alignof(T)))

/* -ENOMEM, or -E2BIG beyond PPROF_TABLES_BYTES_MAX. */
int pprof_field_no_memory(struct pprof_reader *reader);
/* -EINVAL; at: the place in the input. */
int pprof_field_bad(struct pprof_reader *reader, const uint8_t *at, const char *what);

/* Like wire_next: 1, or 0 at the end. */
static inline int pprof_field_next(struct pprof_reader *reader, struct bytes *b,
				   struct wire_field *f)
{
	int got = wire_next(b, f);
	return got < 0 ? pprof_field_bad(reader, b->p, "malformed field") : got;
}

/* The next field if it is a message, or other bytes, with a length of one or two bytes.  False,
 * with nothing read, for any other field and at the end. */
static inline bool pprof_field_quick(struct bytes *b, unsigned int *ret_number,
				     struct bytes *ret_body)
{
	const uint8_t *p = b->p;
	if (b->end - p < 3 || (p[0] & 0x87) != WIRE_BYTES || p[0] < 8)
		return false;
	size_t n = p[1];
	const uint8_t *body = p + 2;
	if (n & 0x80) {
		if (p[2] & 0x80)
			return false;
		n = (n & 0x7f) | (size_t)p[2] << 7;
		body++;
	}
	if ((size_t)(b->end - body) < n)
		return false;
	*ret_number = p[0] >> 3;
	*ret_body = bytes_of(body, n);
	b->p = body + n;
	return true;
}

/* The value of field f, which has just been read from `at`. */
int pprof_field_uint(struct pprof_reader *reader, const struct bytes *at,
		     const struct wire_field *f, uint64_t *ret);
int pprof_field_int(struct pprof_reader *reader, const struct bytes *at, const struct wire_field *f,
		    int64_t *ret);
int pprof_field_bool(struct pprof_reader *reader, const struct bytes *at,
		     const struct wire_field *f, bool *ret);
int pprof_field_string(struct pprof_reader *reader, const struct bytes *at,
		       const struct wire_field *f, const char **ret);
int pprof_field_body(struct pprof_reader *reader, const struct bytes *at,
		     const struct wire_field *f, struct bytes *ret);

/* Adds the number of values in a field of a repeated number, packed or single, to *n. */
int pprof_field_count(struct pprof_reader *reader, const struct bytes *at,
		      const struct wire_field *f, size_t *n);

/* The next of those values: 1, or 0 at the end.  *state starts as zero. */
struct pprof_numbers { struct bytes left; bool begun; };
int pprof_field_number(struct pprof_reader *reader, const struct wire_field *f,
		       struct pprof_numbers *state, uint64_t *ret);

/* Indexes an array; -EINVAL if an id is 0 or occurs twice. */
int pprof_ids_init(struct pprof_reader *reader, struct pprof_ids *m, const void *item,
		   size_t item_bytes, size_t n, const char *kind);
/* NULL: no item has this id. */
const void *pprof_ids_find(const struct pprof_ids *m, uint64_t id);
/* The same as an index, or UINT32_MAX. */
static inline uint32_t pprof_ids_index(const struct pprof_ids *m, uint64_t id)
{
	if (!m->has_gaps)
		return id - 1 < m->n ? (uint32_t)(id - 1) : UINT32_MAX;
	const char *item = pprof_ids_find(m, id);
	return item ? (uint32_t)((size_t)(item - m->item) / m->item_bytes) : UINT32_MAX;
}
/* Frees the indices of a reader, but not its arena. */
void pprof_ids_done(struct pprof_reader *reader);

#endif
