#ifndef CPROF_CMD_SAVEAS_H
#define CPROF_CMD_SAVEAS_H

/* Outputs that the user has named, files or stdout: all are complete, or none is there.  A signal
 * that ends the program removes what is unfinished. */

#include <stdbool.h>
#include <stddef.h>

struct err;

/* Writes all by `write`, which returns 0 or -errno with e set. */
typedef int saveas_fn(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		      void *ctx, struct err *e);

struct saveas {
	const char *name;  /* "-": stdout, which is refused if it is a terminal and is_binary */
	bool is_binary;
	saveas_fn *fn;
	void *what;
};

#define SAVEAS_FILES_MAX 4

/* Writes n files, SAVEAS_FILES_MAX at most, one after the other. */
int saveas_write(const struct saveas *file, size_t n, struct err *e);

#endif
