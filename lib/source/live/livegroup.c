/*
 * A sample of a group's leader (modifier S) carries the counters of all members.  It becomes one
 * sample, with the leader's stack, of each event that has counted since the last one.  Code above
 * knows nothing of groups.
 *
 * The previous value of a counter is stored by its id.  Inherited counters of all threads have the
 * id of the original event (Linux 6.13), so the thread belongs to the key.  A counter below its
 * previous value is a new one.
 */

#include "source/live/live-private.h"

#include "base/hash.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

struct livegroup_last {
	uint64_t id;
	uint32_t tid;     /* 0: the counter is not inherited */
	uint64_t value;
};

/* The increase of a counter since its previous sample. */
static uint64_t advance(struct livegroup *g, uint64_t id, uint32_t tid, uint64_t value)
{
	uint64_t hash = hash_pair(id, tid), before = 0;
	uint32_t i = HASHINDEX_FIND(&g->index, hash, k,
				    g->last.v[k].id == id && g->last.v[k].tid == tid);
	if (i != HASHINDEX_NONE) {
		before = g->last.v[i].value;
		g->last.v[i].value = value;
	} else if (!VEC_RESERVE(&g->last, 1) ||
		   !hashindex_add(&g->index, hash, (uint32_t)g->last.n)) {
		return 0;
	} else {
		g->last.v[g->last.n++] = (struct livegroup_last){ id, tid, value };
	}
	return value >= before ? value - before : value;
}

void livegroup_begin(struct livegroup *g, const struct record *r)
{
	g->record = *r;
	g->at = 0;
}

bool livegroup_next(const struct live *l, struct livegroup *g, struct record *ret)
{
	const struct record *r = &g->record;
	const struct record_format *f = &l->format[r->event];
	size_t words = 2 + !!(f->read_format & (1u << 4)); /* PERF_FORMAT_LOST, Linux 6.0 */
	const struct perf_event_attr *leader = &l->event[r->event].attr;
	while (g->at < r->sample.n_group) {
		bool is_leader = g->at == 0;
		const uint64_t *v = r->sample.group + g->at++ * words;
		const struct live_id *id = live_find_id(l, v[1]);
		if (!id)
			continue;
		uint64_t n = advance(g, v[1], leader->inherit ? r->tid : 0, v[0]);
		bool by_period = is_leader && (!leader->freq || id->is_clock);
		if (!by_period && !n && !is_leader)
			continue;
		*ret = *r;
		ret->event = id->event;
		ret->id = id->id;
		if (!by_period)
			ret->sample.period = n;
		return true;
	}
	g->record.sample.n_group = 0;
	return false;
}

void livegroup_done(struct livegroup *g)
{
	VEC_FREE(&g->last);
	hashindex_done(&g->index);
}
