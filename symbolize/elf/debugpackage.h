#ifndef CPROF_SYMBOLIZE_ELF_DEBUGPACKAGE_H
#define CPROF_SYMBOLIZE_ELF_DEBUGPACKAGE_H

/* The Debian package that has the debug information of a file.  For explanations only. */

#include <stdbool.h>
#include <stddef.h>

struct host;

/* "zlib1g-dbgsym" for /usr/lib/x86_64-linux-gnu/libz.so.1.2.13, according to /var/lib/dpkg/info.
 * False if no package has the file.  Reads all package lists. */
bool debugpackage_of(const struct host *h, const char *path, char *buf, size_t n_bytes);

#endif
