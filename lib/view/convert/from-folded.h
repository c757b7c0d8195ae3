#ifndef CPROF_VIEW_CONVERT_FROM_FOLDED_H
#define CPROF_VIEW_CONVERT_FROM_FOLDED_H

/*
 * Folded stacks, as flamegraph.pl and its collapsers have them: "root;caller;leaf VALUE", a line
 * for each.  Names may hold spaces; the value is what follows the last one, a whole number or
 * a decimal fraction, which is rounded.  Empty lines are skipped, an empty frame becomes
 * "[unknown]".  The profile has the one sample type samples/count, and
 * that as its period.
 */

#include <stddef.h>

struct err;
struct model;

/* text may hold anything and needs no NUL.  -EINVAL: a line without a value (the text tells
 * which), or not one stack; -E2BIG; -ENOMEM. */
int from_folded_read(const char *text, size_t n_bytes, struct model **ret, struct err *e);

#endif
