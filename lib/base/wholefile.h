#ifndef CPROF_BASE_WHOLEFILE_H
#define CPROF_BASE_WHOLEFILE_H

/* Small files, in memory. */

#include <stddef.h>

struct err;

/* Reads what is left of a regular file, at most max bytes, and appends a NUL.  The caller frees
 * *ret.  -EINVAL: it is not a regular file; -EFBIG; name is for the message. */
int wholefile_read(int fd, const char *name, size_t max, char **ret, size_t *ret_n, struct err *e);

#endif
