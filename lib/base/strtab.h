#ifndef CPROF_BASE_STRTAB_H
#define CPROF_BASE_STRTAB_H

/*
 * Interned strings: equal strings get the same id.  Id 0 is the empty string,
 * ids count up from there without gaps.  Append-only; a returned pointer stays
 * valid until strtab_done.
 */

#include "base/hashindex.h"

#include <stddef.h>
#include <stdint.h>

struct budget;

struct strtab {
	struct budget *budget;      /* charged always: strings are few; may be NULL */
	const char **str;           /* by id, NUL-terminated */
	uint32_t n, cap;
	struct hashindex index;     /* of all but the empty string */
	struct strtab_block *block; /* storage, newest first */
};

/* -ENOMEM when memory is out. */
int strtab_init(struct strtab *t, struct budget *budget);
void strtab_done(struct strtab *t);

/* The id of the n bytes at s (which need no NUL); 0 for the empty string, and
 * also when memory is out, so that a lost string is an empty one. */
uint32_t strtab_add(struct strtab *t, const char *s, size_t n);
uint32_t strtab_add_cstr(struct strtab *t, const char *s);

/* Looks up only: 0 when there is no such string, and for the empty one. */
uint32_t strtab_find(const struct strtab *t, const char *s, size_t n);

/* Borrowed until strtab_done. */
const char *strtab_get(const struct strtab *t, uint32_t id);

#endif
