#ifndef CPROF_CMD_BESIDE_H
#define CPROF_CMD_BESIDE_H

/* Files that are installed with the program, wherever that is. */

#include <stddef.h>

struct err;

/* The real path of a readable file in one of the folders, which are absolute or relative to the
 * program's own; the caller frees it.  NULL with e set (-ENOENT). */
char *beside_find(const char *const *folder, size_t n_folders, const char *name, struct err *e);

#endif
