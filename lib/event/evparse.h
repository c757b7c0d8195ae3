#ifndef CPROF_EVENT_EVPARSE_H
#define CPROF_EVENT_EVPARSE_H

/* The parser of -e, -F and -c. */

#include "event/evspec.h"

struct err;
struct host;

/*
 * Parses one -e argument (a list with groups) and appends to l, which is zero at first.  -EINVAL
 * with e set: the message points at the character that is wrong, and an unknown name comes with the
 * three nearest ones.
 * An event that is in l already is an error, too.  -ENOMEM.  On failure l is unchanged.
 * PMUs, tracepoints and probes are looked up on h; NULL: a machine without any.
 */
int evparse_list(struct evspec_list *l, const struct host *h, const char *text, struct err *e);

/* Is the argument of -c a time, which is for clocks and waits only? */
bool evparse_is_time(const char *text);

/* Parses the argument of -F or -c: a number, "max" for -F, or a time for -c, in ns.  -EINVAL with
 * e set. */
int evparse_rate(const char *text, bool is_freq, enum evspec_rate *ret_kind, uint64_t *ret_rate,
		 struct err *e);

#endif
