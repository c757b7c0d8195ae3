/* Ids in a table, found by a hash, and threads that may have two sets of events. */

#include "source/live/live-private.h"

#include "base/hash.h"
#include "base/search.h"

#include <errno.h>
#include <stdlib.h>

int live_add_id(struct live *l, struct live_id id)
{
	if (l->free_ids.n) {
		uint32_t place = l->free_ids.v[l->free_ids.n - 1];
		if (!hashindex_add(&l->id_index, hash_u64(id.id), place))
			return -ENOMEM;
		l->free_ids.n--;
		l->ids.v[place] = id;
		return 0;
	}
	return VEC_RESERVE(&l->ids, 1) &&
	       hashindex_add(&l->id_index, hash_u64(id.id), (uint32_t)l->ids.n) &&
	       VEC_PUSH(&l->ids, id) ? 0 : -ENOMEM;
}

void live_remove_id(struct live *l, uint64_t id)
{
	struct live_id *slot = live_find_id(l, id);
	uint32_t place = slot ? (uint32_t)(slot - l->ids.v) : 0;
	if (!slot || !VEC_PUSH(&l->free_ids, place))
		return;
	hashindex_remove(&l->id_index, hash_u64(id), place);
	*slot = (struct live_id){ .id = 0, .event = RECORD_NO_EVENT };
}

struct live_id *live_find_id(const struct live *l, uint64_t id)
{
	uint32_t i = HASHINDEX_FIND(&l->id_index, hash_u64(id), k, l->ids.v[k].id == id);
	return i != HASHINDEX_NONE ? &l->ids.v[i] : NULL;
}

static int compare_late(const void *a, const void *b)
{
	const struct live_late *x = a, *y = b;
	return (x->tid > y->tid) - (x->tid < y->tid);
}

void live_mark_unproven(struct live *l, size_t n_old)
{
	for (size_t i = n_old; i < l->fds.n; i++) {
		struct live_id *id = live_find_id(l, l->fds.v[i].id);
		if (id)
			id->is_unproven = true;
	}
}

void live_sort_late(struct live_late *late, size_t n)
{
	if (n)
		qsort(late, n, sizeof(*late), compare_late);
}

struct live_late *live_find_late(const struct live *l, const struct live_ring *ring, uint32_t tid)
{
	struct live_late *late = ring->has_late ? ring->late.v : l->late.v;
	size_t n = ring->has_late ? ring->late.n : l->late.n;
	size_t i = SEARCH_COUNT(n, k, late[k].tid < tid);
	return i < n && late[i].tid == tid ? &late[i] : NULL;
}

/*
 * A thread that was created while we attached may have two sets of events: one inherited from its
 * creator, and one opened because a later scan found it.  The kernel gives records of an inherited
 * event the id of the original event.  So the first record whose id belongs to another thread
 * proves the inheritance; from then on the thread's own set is ignored, and the copies of this set
 * in what it has created: there are copies of the other one, too.
 */
bool live_is_double(const struct live *l, const struct live_ring *ring, const struct live_id *id,
		    uint32_t tid)
{
	/* What replaced events show holds for them only; events of CPUs have no late threads. */
	if (id->tid == 0 || (id->until_ns && l->options.scope == LIVE_TASK))
		return false;
	const struct live_late *owner = live_find_late(l, ring, id->tid);
	struct live_late *late = id->tid != tid ? live_find_late(l, ring, tid) : NULL;
	if (late)
		__atomic_store_n(&late->inherits, true, __ATOMIC_RELAXED);
	return owner && __atomic_load_n(&owner->inherits, __ATOMIC_RELAXED);
}

bool live_awaits_proof(const struct live *l, const struct live_ring *ring, struct live_id *id,
		       uint32_t tid)
{
	struct live_late *late = id->tid == tid ? live_find_late(l, ring, tid) : NULL;
	if (!late || __atomic_load_n(&late->counts, __ATOMIC_RELAXED))
		return false;
	if (!id->was_met) {
		id->was_met = true;
		return true;
	}
	__atomic_store_n(&late->counts, true, __ATOMIC_RELAXED);
	return false;
}

bool live_is_in_time(const struct live_id *id, const struct record *r)
{
	return r->time_ns >= id->since_ns && (!id->until_ns || r->time_ns < id->until_ns);
}

void live_note_cut(struct live *l, const struct record *r)
{
	struct live_event *event = &l->event[r->event];
	uint64_t period = r->sample.period ? r->sample.period : event->attr.sample_period;
	__atomic_add_fetch(&event->cut_value, period, __ATOMIC_RELAXED);
}
