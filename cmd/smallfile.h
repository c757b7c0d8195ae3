#ifndef CPROF_CMD_SMALLFILE_H
#define CPROF_CMD_SMALLFILE_H

#include <sys/types.h>

struct err;

#define SMALLFILE_MAX 65536

/* Reads a file that an option names: a token, a key, a certificate.  It must be a regular one of 1
 * to SMALLFILE_MAX - 1 bytes, with none of the mode's bits in `forbidden`.  The caller frees the
 * text.  NULL with e set. */
char *smallfile_read(const char *option, const char *path, mode_t forbidden, struct err *e);

#endif
