/* Few streams are throttled at a time, so a plain list suffices. */

#include "engine/throttle.h"

#include <stddef.h>

void throttle_done(struct throttle *p)
{
	VEC_FREE(&p->open);
}

static struct throttle_open *find_open(struct throttle *p, uint64_t stream_id)
{
	for (size_t i = 0; i < p->open.n; i++)
		if (p->open.v[i].stream_id == stream_id)
			return &p->open.v[i];
	return NULL;
}

static uint64_t close_one(struct throttle *p, struct throttle_open *o, uint64_t time_ns)
{
	uint64_t ns = time_ns > o->since_ns ? time_ns - o->since_ns : 0;
	*o = p->open.v[--p->open.n];
	return ns;
}

void throttle_begin(struct throttle *p, uint32_t event, uint64_t stream_id, uint64_t time_ns)
{
	/* If memory is short, throttling is counted but not timed. */
	if (!find_open(p, stream_id))
		VEC_PUSH(&p->open, ((struct throttle_open){ stream_id, time_ns, event }));
}

uint64_t throttle_end(struct throttle *p, uint64_t stream_id, uint64_t time_ns)
{
	struct throttle_open *o = find_open(p, stream_id);
	return o ? close_one(p, o, time_ns) : 0;
}

void throttle_forget(struct throttle *p, uint64_t before_ns)
{
	for (size_t i = p->open.n; i-- > 0;)
		if (p->open.v[i].since_ns < before_ns)
			p->open.v[i] = p->open.v[--p->open.n];
}

uint64_t throttle_end_all(struct throttle *p, uint32_t event, uint64_t time_ns)
{
	uint64_t sum = 0;
	for (size_t i = p->open.n; i-- > 0;)
		if (p->open.v[i].event == event)
			sum += close_one(p, &p->open.v[i], time_ns);
	return sum;
}
