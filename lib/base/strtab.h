#ifndef CPROF_BASE_STRTAB_H
#define CPROF_BASE_STRTAB_H

/*
 * Interned strings: equal strings have the same id.  Id 0 is the empty string; ids count up without
 * gaps.  Strings are never removed, and their addresses stay valid until strtab_done.
 */

#include "base/hashindex.h"

#include <stddef.h>
#include <stdint.h>

struct budget;

struct strtab {
	struct budget *budget;      /* always charged, since strings are few; may be NULL */
	const char **str;           /* by id, NUL-terminated */
	uint32_t n, cap;            /* not a VEC: the capacity is charged to the budget */
	struct hashindex index;     /* of all but the empty string */
	struct strtab_block *block; /* storage, newest first */
};

/* -ENOMEM when memory is out. */
int strtab_init(struct strtab *t, struct budget *budget);
void strtab_done(struct strtab *t);

/* The id of the n bytes at s, which need no NUL.  0 for the empty string, and when memory is out: a
 * lost string is an empty one. */
uint32_t strtab_add(struct strtab *t, const char *s, size_t n);
uint32_t strtab_add_cstr(struct strtab *t, const char *s);

/* Looks up without adding: 0 for an unknown string and for the empty one. */
uint32_t strtab_find(const struct strtab *t, const char *s, size_t n);

/* A string without NUL in memory of the caller, hashed once for several look-ups. */
struct strtab_text { const char *s; uint64_t hash; size_t n; };

/* The n bytes at s up to the first NUL. */
struct strtab_text strtab_text_of(const char *s, size_t n);
uint32_t strtab_add_text(struct strtab *t, const struct strtab_text *text);

/* Starts to load what looking up these strings will read; n: at most STRTAB_PREFETCH_MAX. */
#define STRTAB_PREFETCH_MAX 64u
void strtab_prefetch(const struct strtab *t, const struct strtab_text *const *text, size_t n);

/* Borrowed until strtab_done. */
const char *strtab_get(const struct strtab *t, uint32_t id);

#endif
