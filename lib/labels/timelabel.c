#include "labels/timelabel.h"

/* How often the width has been doubled at a time. */
static unsigned n_doublings(const struct timelabel *t, uint64_t time_ns)
{
	unsigned n = 0;
	if (t->is_fixed)
		return 0;
	uint64_t buckets = (time_ns - t->since_ns) / t->bucket_ns;
	while (buckets >> n >= TIMELABEL_BUCKETS_MAX)
		n++;
	return n;
}

uint64_t timelabel_bucket(const struct timelabel *t, uint64_t time_ns)
{
	unsigned n = n_doublings(t, time_ns);
	return (time_ns - t->since_ns) / t->bucket_ns >> n << n;
}

uint64_t timelabel_width_ns(const struct timelabel *t, uint64_t end_ns)
{
	return t->bucket_ns << (end_ns > t->since_ns ? n_doublings(t, end_ns) : 0);
}

uint64_t timelabel_offset_ns(const struct timelabel *t, uint64_t bucket, uint64_t width_ns,
			     uint64_t start_ns)
{
	uint64_t from_ns = bucket * t->bucket_ns / width_ns * width_ns + t->since_ns;
	return from_ns > start_ns ? from_ns - start_ns : 0;
}
