#ifndef CPROF_EVENT_EVFIELD_H
#define CPROF_EVENT_EVFIELD_H

/* Which field of struct perf_event_attr does the kernel refuse?  Found by opening without it. */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

struct evopen;
struct evopen_place;

struct evfield {
	const char *name;   /* "config1", "sample_type PERF_SAMPLE_READ"; NULL: unknown; static */
	uint64_t value;     /* the requested value */
	const char *since;  /* the version of Linux that added it; NULL: always there; static */
};

/*
 * For an attr that this place refuses with EINVAL: the first field whose removal changes the
 * answer.  Names no field if no single one is to blame.  Some 30 system calls.
 */
void evfield_find(const struct evopen *o, const struct perf_event_attr *attr,
		  const struct evopen_place *at, struct evfield *ret);

/* For E2BIG from a kernel that knows `known_bytes` of the attr (it writes them to attr.size): the
 * first field after them that is not 0. */
void evfield_beyond(const struct perf_event_attr *attr, uint32_t known_bytes, struct evfield *ret);

#endif
