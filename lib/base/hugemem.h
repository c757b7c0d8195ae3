#ifndef CPROF_BASE_HUGEMEM_H
#define CPROF_BASE_HUGEMEM_H

/*
 * Memory for tables that samples read at random.  The stack copies of one second are in tens of
 * thousands of pages, so the CPU has always forgotten where the pages of a table are, unless these
 * are few.  So they are huge, if the kernel has such pages.
 */

#include <stddef.h>

/* n_bytes of zeros, aligned to the size of a huge page.  The first one is touched, because the
 * kernel may have to make room for it: better here than while samples wait.  NULL: no memory. */
void *hugemem_new(size_t n_bytes);

/* p: NULL, or from hugemem_new with the same n_bytes. */
void hugemem_free(void *p, size_t n_bytes);

#endif
