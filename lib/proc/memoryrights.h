#ifndef CPROF_PROC_MEMORYRIGHTS_H
#define CPROF_PROC_MEMORYRIGHTS_H

/* Which right is missing to read the memory of a process. */

#include <stdbool.h>
#include <stdint.h>

struct err;
struct host;

/* What /proc/PID/status says about a process. */
struct memoryrights {
	uint32_t uid;                   /* effective; UINT32_MAX: it has ended, or is a zombie */
	uint64_t permitted, effective;  /* capabilities */
	char name[64];
};
void memoryrights_read(const struct host *h, uint32_t pid, struct memoryrights *ret);

/* Adds the remedy to e: what prevents the calling process from reading the memory of process pid,
 * whose rights are known, and which right it needs.  needs_files: it also opens files in /proc that
 * only their owner may open. */
void memoryrights_hint(const struct host *h, uint32_t pid, const struct memoryrights *other,
		       bool needs_files, struct err *e);

/* Sets e: the memory of process pid may not be read, and what is missing.  Returns -EPERM, or
 * -ESRCH if it has ended. */
int memoryrights_explain(const struct host *h, uint32_t pid, struct err *e);

#endif
