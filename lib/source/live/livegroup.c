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
	uint64_t id;      /* 0: free slot */
	uint32_t tid;     /* 0: the counter is not inherited */
	uint64_t value;
};

static struct livegroup_last *find(struct livegroup *g, uint64_t id, uint32_t tid)
{
	uint32_t i = (uint32_t)hash_u64(id ^ (uint64_t)tid << 40) & (g->n_slots - 1);
	while (g->slot[i].id && (g->slot[i].id != id || g->slot[i].tid != tid))
		i = (i + 1) & (g->n_slots - 1);
	return &g->slot[i];
}

static bool grow(struct livegroup *g)
{
	struct livegroup old = *g;
	uint32_t n = old.n_slots ? old.n_slots * 2 : 64;
	struct livegroup_last *slot = calloc(n, sizeof(*slot));
	if (!slot)
		return false;
	g->slot = slot;
	g->n_slots = n;
	for (uint32_t i = 0; i < old.n_slots; i++)
		if (old.slot[i].id)
			*find(g, old.slot[i].id, old.slot[i].tid) = old.slot[i];
	free(old.slot);
	return true;
}

/* The increase of a counter since its previous sample. */
static uint64_t advance(struct livegroup *g, uint64_t id, uint32_t tid, uint64_t value)
{
	if (g->n * 2 >= g->n_slots && !grow(g))
		return 0;
	struct livegroup_last *last = find(g, id, tid);
	uint64_t before = last->id ? last->value : 0;
	g->n += !last->id;
	*last = (struct livegroup_last){ id, tid, value };
	return value >= before ? value - before : value;
}

void livegroup_begin(struct live *l, const struct record *r)
{
	l->group.record = *r;
	l->group.at = 0;
}

bool livegroup_next(struct live *l, struct record *ret)
{
	struct livegroup *g = &l->group;
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
	free(g->slot);
}
