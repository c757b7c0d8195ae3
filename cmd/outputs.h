#ifndef CPROF_CMD_OUTPUTS_H
#define CPROF_CMD_OUTPUTS_H

/* Outputs that the user named, files or stdout.  Either all files appear, complete, or none.  A
 * signal that ends the program removes unfinished files. */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct filemode;

/* Produces the content by calling `write`.  0, or -errno with e set. */
typedef int outputs_fn(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		      void *ctx, struct err *e);

struct outputs {
	const char *name;  /* "-": stdout, but no terminal if is_binary */
	bool is_binary;
	outputs_fn *fn;
	void *what;
};

#define OUTPUTS_FILES_MAX 4

/* Writes n files, at most OUTPUTS_FILES_MAX, one after the other, with these permissions. */
int outputs_write(const struct outputs *file, size_t n, const struct filemode *mode, struct err *e);

#endif
