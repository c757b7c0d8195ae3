#ifndef CPROF_PROBE_PROBELOCATE_H
#define CPROF_PROBE_PROBELOCATE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct err;
struct evspec_list;
struct host;
struct probefiles_file;

struct probelocate_options {
	/* Files whose probes are not used; NULL: there are none. */
	bool (*skips)(const struct probefiles_file *file);
	/* Pending events without a location are removed.  So are all of them if the mappings of a
	 * process cannot be read: that is no error. */
	bool is_optional;
};

/*
 * Replaces each pending event, usdt:PROVIDER:NAME, by events for its locations in the files that
 * the n processes or threads have mapped.  -ENOENT: there is none; -EINVAL: n is 0; e is set.
 */
int probelocate_pending(struct evspec_list *l, const struct host *h, const pid_t *ids, size_t n,
			const struct probelocate_options *o, struct err *e);

#endif
