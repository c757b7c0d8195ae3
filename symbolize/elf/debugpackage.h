#ifndef CPROF_SYMBOLIZE_ELF_DEBUGPACKAGE_H
#define CPROF_SYMBOLIZE_ELF_DEBUGPACKAGE_H

/* Which Debian package would bring a file's debug information: for explanations only. */

#include <stdbool.h>
#include <stddef.h>

struct host;

/* "zlib1g-dbgsym" for /usr/lib/x86_64-linux-gnu/libz.so.1.2.13, by /var/lib/dpkg/info; false where
 * no package holds the file.  Reads all of these lists. */
bool debugpackage_of(const struct host *h, const char *path, char *buf, size_t n_bytes);

#endif
