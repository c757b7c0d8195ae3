#ifndef CPROF_PROC_REFUSED_H
#define CPROF_PROC_REFUSED_H

/* Processes whose runtimes cannot be read, and why, in one line. */

#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* More reasons are counted together. */
#define REFUSED_REASONS 3u

struct err;

struct refused {
	struct refused_reason {
		char text[288];
		VEC(uint32_t) pid;
	} reason[REFUSED_REASONS + 1];   /* the last one has no text: others */
	char line[768];                  /* "process 7: REASON; process 8 and 3 others: REASON" */
	uint32_t n_changes;
	uint64_t n_joined;               /* the caller's: n_changes of those that were joined */
};
void refused_done(struct refused *r);

/* Counts a process, once. */
void refused_add(struct refused *r, uint32_t pid, const char *reason);

/* The same; the reason is e with its remedy. */
void refused_add_err(struct refused *r, uint32_t pid, const struct err *e);

/* It can be read now. */
void refused_remove(struct refused *r, uint32_t pid);

/* Adds those of `from`. */
void refused_join(struct refused *r, const struct refused *from);

/* How many processes there are. */
size_t refused_n(const struct refused *r);

#endif
