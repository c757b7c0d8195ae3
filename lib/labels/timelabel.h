#ifndef CPROF_LABELS_TIMELABEL_H
#define CPROF_LABELS_TIMELABEL_H

/*
 * When a sample was taken, as a bucket of time.  A profile has at most TIMELABEL_BUCKETS_MAX
 * buckets: they are twice as wide whenever there would be more.  The width at a time depends on
 * nothing but that time, so that threads that label samples need not agree on anything.
 *
 * While recording, a bucket is known by a number: how many of the narrowest ones precede it.
 */

#include <stdbool.h>
#include <stdint.h>

#define TIMELABEL_KEY "time"
#define TIMELABEL_UNIT "nanoseconds"
#define TIMELABEL_BUCKETS_MAX 600u

struct timelabel {
	uint64_t bucket_ns;       /* of the narrowest buckets; 0: there is no such label */
	uint64_t since_ns;        /* where bucket 0 begins, CLOCK_MONOTONIC */
	bool is_fixed;            /* buckets are never wider: old ones are dropped instead */
};

/* The bucket at a time that is not before since_ns. */
uint64_t timelabel_bucket(const struct timelabel *t, uint64_t time_ns);

/* The width of all buckets of a profile that ends at that time. */
uint64_t timelabel_width_ns(const struct timelabel *t, uint64_t end_ns);

/* Where the bucket of that width begins that contains the bucket, in ns after start_ns, the start
 * of the profile; 0 if it begins before that. */
uint64_t timelabel_offset_ns(const struct timelabel *t, uint64_t bucket, uint64_t width_ns,
			     uint64_t start_ns);

#endif
