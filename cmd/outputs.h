#ifndef CPROF_CMD_OUTPUTS_H
#define CPROF_CMD_OUTPUTS_H

/* Outputs that the user has named, files or stdout: all are complete, or none is there.  A signal
 * that ends the program removes what is unfinished. */

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Writes all by `write`, which returns 0 or -errno with e set. */
typedef int outputs_fn(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		      void *ctx, struct err *e);

struct outputs {
	const char *name;  /* "-": stdout, which is refused if it is a terminal and is_binary */
	bool is_binary;
	outputs_fn *fn;
	void *what;
};

#define OUTPUTS_FILES_MAX 4

/* Writes n files, OUTPUTS_FILES_MAX at most, one after the other. */
int outputs_write(const struct outputs *file, size_t n, struct err *e);

#endif
