#ifndef CPROF_PROTO_PPROF_FIELD_H
#define CPROF_PROTO_PPROF_FIELD_H

/*
 * Part of the reader of profiles: its state, and the fields of a message with
 * the type that they must have.  All functions return 0 (or what is said) or
 * a negative errno with the reader's `e` set.
 */

#include "base/arena.h"
#include "proto/pprof-tags.h"
#include "proto/wire.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct profile;

/* From id to item; an item begins with its uint64_t id. */
struct pprof_ids {
	const char *item;
	size_t item_bytes, n;
	uint32_t *slot;   /* open addressing: index + 1, 0 when free; NULL: id - 1 is the index */
	size_t n_slots;   /* a power of two */
};

struct pprof_reader {
	const uint8_t *start;
	struct bytes all;
	struct profile *p;
	struct arena_block *arena;
	size_t count[PPROF_PROFILE_N_TAGS];   /* messages or numbers of each field of Profile */
	size_t done[PPROF_PROFILE_N_TAGS];    /* of those, read so far */
	/* Where the first begins and the last ends: mostly a kind stands in one piece. */
	struct bytes range[PPROF_PROFILE_N_TAGS];
	const char **string;
	size_t n_strings;
	struct pprof_ids mappings, functions, locations;
	struct err *e;
};

int pprof_field_no_memory(struct pprof_reader *r);
/* -EINVAL; at: where in the input it was seen. */
int pprof_field_bad(struct pprof_reader *r, const uint8_t *at, const char *what);

/* As wire_next: 1, or 0 at the end. */
int pprof_field_next(struct pprof_reader *r, struct bytes *b, struct wire_field *f);

/* The value of the field f that was just read from `at`. */
int pprof_field_uint(struct pprof_reader *r, const struct bytes *at, const struct wire_field *f,
		     uint64_t *ret);
int pprof_field_int(struct pprof_reader *r, const struct bytes *at, const struct wire_field *f,
		    int64_t *ret);
int pprof_field_bool(struct pprof_reader *r, const struct bytes *at, const struct wire_field *f,
		     bool *ret);
int pprof_field_string(struct pprof_reader *r, const struct bytes *at, const struct wire_field *f,
		       const char **ret);
int pprof_field_body(struct pprof_reader *r, const struct bytes *at, const struct wire_field *f,
		     struct bytes *ret);

/* Adds to *n how many numbers a field of a repeated number holds: packed or a single one. */
int pprof_field_count(struct pprof_reader *r, const struct bytes *at, const struct wire_field *f,
		      size_t *n);

/* The next of those numbers: 1, or 0 when there is none left.  *state is zeroed at first. */
struct pprof_numbers { struct bytes left; bool begun; };
int pprof_field_number(struct pprof_reader *r, const struct wire_field *f,
		       struct pprof_numbers *state, uint64_t *ret);

/* The map of an array that was read; -EINVAL where an id is 0 or there twice. */
int pprof_ids_init(struct pprof_reader *r, struct pprof_ids *m, const void *item, size_t item_bytes,
		   size_t n, const char *kind);
/* NULL: no item has this id. */
const void *pprof_ids_find(const struct pprof_ids *m, uint64_t id);

#endif
