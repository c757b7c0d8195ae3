#ifndef CPROF_SYMBOLIZE_ELF_ELFCACHE_H
#define CPROF_SYMBOLIZE_ELF_ELFCACHE_H

/*
 * Files that stay open between look-ups of names, with sorted symbols.  When names are looked up
 * every second, opening and sorting would be most of the work.  DWARF is not kept.
 */

#include "symbolize/elf/symelf.h"

#define ELFCACHE_FILES_MAX 8

/* All zeros: empty. */
struct elfcache { struct symelf *file[ELFCACHE_FILES_MAX]; };  /* most recently used first */

/* Like symelf_open, but takes the DSO's file from the cache if it is there.  The caller must put it
 * back.  With kept NULL nothing is cached, and putting back closes the file.  A file that `where`
 * has fetched is always opened anew. */
int elfcache_get(struct elfcache *kept, const struct dso *d, const struct symdebug_place *where,
		struct symelf **ret);
void elfcache_put(struct elfcache *kept, struct symelf *s);

/* Closes all files.  Must be called before a DSO is freed. */
void elfcache_done(struct elfcache *kept);

#endif
