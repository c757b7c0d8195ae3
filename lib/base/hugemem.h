#ifndef CPROF_BASE_HUGEMEM_H
#define CPROF_BASE_HUGEMEM_H

/*
 * Memory for tables that samples read at random.  The stack copies of one second are in tens of
 * thousands of pages, so the CPU has always forgotten where the pages of a table are, unless these
 * are few.  So they become huge ones, if the kernel has such
 * pages: not at once, because zeros for one of them take longer than many recordings.
 */

#include <stddef.h>

/* n_bytes of zeros, aligned to the size of a huge page, in ordinary pages.  NULL: no memory. */
void *hugemem_new(size_t n_bytes);

/* Makes them huge, with their contents, by madvise(2)'s MADV_COLLAPSE; what fails changes nothing.
 * p: from hugemem_new with the same n_bytes. */
void hugemem_join(void *p, size_t n_bytes);

/* p: NULL, or from hugemem_new with the same n_bytes. */
void hugemem_free(void *p, size_t n_bytes);

#endif
