#ifndef CPROF_PROC_PROCS_COPY_H
#define CPROF_PROC_PROCS_COPY_H

struct procs;

/*
 * Adds to `to`, which is new, the living processes and threads of `from`, with their mappings.
 * Files are opened anew.  The ids of strings must be the same in both.  -ENOMEM.
 */
int procs_copy(struct procs *to, const struct procs *from);

#endif
