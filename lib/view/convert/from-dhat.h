#ifndef CPROF_VIEW_CONVERT_FROM_DHAT_H
#define CPROF_VIEW_CONVERT_FROM_DHAT_H

/*
 * Heap profiles of valgrind's DHAT: version 2 of its JSON, mode "heap".  Every block is counted.
 * The values at the peak are those of DHAT's "global maximum" (gb, gbk), those in use of its end.
 * The file names functions, files and lines.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct model;

/* Does the text begin with a profile of DHAT of any version? */
bool from_dhat_is(const char *text, size_t n_bytes);

/* -EINVAL: another version or mode, or damaged; -E2BIG; -ENOMEM. */
int from_dhat_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
