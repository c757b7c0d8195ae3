#ifndef CPROF_VIEW_CONVERT_FROM_HEAPTRACK_H
#define CPROF_VIEW_CONVERT_FROM_HEAPTRACK_H

/*
 * Recordings of heaptrack: versions 2 and 3 of its text, unpacked (heaptrack packs it with gzip or
 * zstd).  Every block is counted.  The peak is the first moment with the most bytes in use.  The
 * file names functions, files and lines.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct model;

/* Does the text begin as a recording of any version? */
bool from_heaptrack_is(const char *text, size_t n_bytes);

/* -EINVAL: another version, raw data, or a line that is wrong (e names it); -E2BIG; -ENOMEM. */
int from_heaptrack_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
