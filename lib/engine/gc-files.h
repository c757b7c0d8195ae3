#ifndef CPROF_ENGINE_GC_FILES_H
#define CPROF_ENGINE_GC_FILES_H

/* Frees files that nothing refers to any more, and what is kept about ended processes. */

#include <stddef.h>

struct gc_tables;
struct gc_tables_part;

/*
 * Frees files that no frame, process or statistic (including those of the parts) refers to, what
 * was read from them, target ids of ended processes, and throttling that ended without a record.
 * -ENOMEM: nothing has changed.
 */
int gc_files_unused(const struct gc_tables *t, const struct gc_tables_part *part, size_t n_parts);

/* Closes the CFI of files that no process maps any more, when much of it is open. */
void gc_files_cfi(struct gc_tables *t);

#endif
