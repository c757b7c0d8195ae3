#ifndef CPROF_SYMBOLIZE_ELF_ELFCACHE_H
#define CPROF_SYMBOLIZE_ELF_ELFCACHE_H

/*
 * Files that stay open for names from one look-up to the next, with their symbols sorted: where
 * names are looked up each second, that would be most of the work.  DWARF is not kept.
 */

#include "symbolize/elf/symelf.h"

#define ELFCACHE_FILES_MAX 8

/* All zeros: none are kept. */
struct elfcache { struct symelf *file[ELFCACHE_FILES_MAX]; };  /* the last used first */

/* As symelf_open, or what was put back of that DSO before; the caller puts it back.  kept NULL:
 * nothing is kept, and putting it back closes it.  A file that `where` has fetched is always
 * opened anew. */
int elfcache_get(struct elfcache *kept, const struct dso *d, const struct symdebug_place *where,
		struct symelf **ret);
void elfcache_put(struct elfcache *kept, struct symelf *s);

/* Closes all.  To be done before a DSO goes. */
void elfcache_done(struct elfcache *kept);

#endif
