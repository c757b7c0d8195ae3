#ifndef CPROF_PROBE_PROBELOCATE_H
#define CPROF_PROBE_PROBELOCATE_H

#include <stddef.h>
#include <sys/types.h>

struct err;
struct evspec_list;
struct host;

/*
 * Replaces each pending event, usdt:PROVIDER:NAME, by events for its locations in the files that
 * the n processes or threads have mapped.  -ENOENT: there is none; -EINVAL: n is 0; e is set.
 */
int probelocate_pending(struct evspec_list *l, const struct host *h, const pid_t *ids, size_t n,
			struct err *e);

#endif
