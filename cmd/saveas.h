#ifndef CPROF_CMD_SAVEAS_H
#define CPROF_CMD_SAVEAS_H

/* What merge and convert share: one output, a file or stdout, complete or not there. */

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Writes all by `write`, which returns 0 or -errno with e set. */
typedef int saveas_fn(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		      void *ctx, struct err *e);

/* name "-": stdout, which is refused if it is a terminal and the output is_binary. */
int saveas_write(const char *name, bool is_binary, saveas_fn *fn, void *what, struct err *e);

#endif
