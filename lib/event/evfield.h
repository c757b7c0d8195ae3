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
	uint64_t value;     /* what was asked for */
	const char *since;  /* the version of Linux that brought it; NULL: always there; static */
};

/*
 * For an attr that is refused with EINVAL at this place: the first field without which the answer
 * is another one.  Names nothing where no single field is to blame.  Some 30 system calls.
 */
void evfield_find(const struct evopen *o, const struct perf_event_attr *attr,
		  const struct evopen_place *at, struct evfield *ret);

/* For one refused with E2BIG by a kernel that knows so many bytes of it (which it writes into
 * attr.size): the first field behind them that is not 0. */
void evfield_beyond(const struct perf_event_attr *attr, uint32_t known_bytes, struct evfield *ret);

#endif
