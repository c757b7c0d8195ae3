#ifndef CPROF_VIEW_CONVERT_FROM_FOLDED_H
#define CPROF_VIEW_CONVERT_FROM_FOLDED_H

/*
 * Folded stacks, as written by the stackcollapse scripts of flamegraph.pl: one line
 * "root;caller;leaf VALUE" per stack.  Names may contain spaces; the value follows the last one.
 * It is an integer, or a decimal fraction, which is rounded.  Empty lines are skipped; an empty
 * frame becomes "[unknown]".  The profile's only sample type, and its period, is samples/count.
 */

#include <stddef.h>

struct err;
struct model;

/* text may hold any bytes and needs no NUL.  -EINVAL: a line without a value (e names it), or no
 * stacks; -E2BIG; -ENOMEM. */
int from_folded_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
