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

/*
 * Closes the files that no process has mapped now or since the last call, so that their file system
 * can be unmounted; processes that map them later open them again.  Call it between profiles, when
 * nothing is left to be read from the files of ended processes.
 */
void gc_files_let_go(const struct gc_tables *t);

/* Closes the CFI of files that no process maps any more, when much of it is open. */
void gc_files_cfi(struct gc_tables *t);

#endif
