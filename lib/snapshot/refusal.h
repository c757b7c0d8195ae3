#ifndef CPROF_SNAPSHOT_REFUSAL_H
#define CPROF_SNAPSHOT_REFUSAL_H

/* Why threads may not be read, and which right is missing. */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct host;
struct snapshot;
struct threadscan;

/* 0 if some thread could be read; otherwise the reason, -errno with e set. */
int refusal_check(const struct snapshot *s, const struct threadscan *scan, const struct host *h,
		  struct err *e);

/* Sets e: why the calling process may not read the memory of process pid, or why it does not answer
 * (code is -ETIMEDOUT; remotemem.h).  needs_files: it is also about the file "syscall" of threads,
 * which is only for their owner.  Returns -EACCES, -ETIMEDOUT, or -ESRCH if it has ended. */
int refusal_explain(const struct host *h, uint32_t pid, int code, bool needs_files,
		    struct err *e);

#endif
