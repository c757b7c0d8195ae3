/*
 * A list of changes for each thread, by time.  Samples, too, arrive almost in time order, so the
 * search for the last change before a sample begins at that of the previous sample.  Changes that
 * no sample can need any more are dropped when the list would have to grow.
 */
#include "labels/apptimes.h"

#include "base/budget.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

struct change {
	uint64_t time_ns;
	uint32_t set;
};

struct timeline {
	VEC(struct change) change; /* by time */
	size_t at;                 /* the current change at the last look-up */
	uint32_t n_new;            /* since apptimes_begin */
	uint64_t used_ns;          /* time of the last change or look-up */
};

void apptimes_init(struct apptimes *t, struct budget *budget)
{
	*t = (struct apptimes){ .budget = budget };
}

static void timeline_free(struct apptimes *t, struct timeline *x)
{
	budget_release(t->budget, sizeof(*x) + x->change.cap * sizeof(struct change));
	VEC_FREE(&x->change);
	free(x);
}

void apptimes_done(struct apptimes *t)
{
	for (size_t i = 0; i < t->thread.item.n; i++)
		timeline_free(t, t->thread.item.v[i].value);
	budget_release(t->budget, idmap_n_bytes(&t->thread));
	idmap_done(&t->thread);
}

void apptimes_begin(struct apptimes *t)
{
	for (size_t i = 0; i < t->thread.item.n; i++)
		((struct timeline *)t->thread.item.v[i].value)->n_new = 0;
}

static struct timeline *timeline_of(struct apptimes *t, uint32_t tid)
{
	struct timeline *x = idmap_get(&t->thread, tid);
	if (x)
		return x;
	budget_release(t->budget, idmap_n_bytes(&t->thread));
	x = idmap_make(&t->thread, tid, sizeof(*x));
	budget_charge_always(t->budget, idmap_n_bytes(&t->thread) + (x ? sizeof(*x) : 0));
	return x;
}

/* Drops changes before floor_ns, except the last one. */
static void drop_old(struct timeline *x, uint64_t floor_ns)
{
	size_t old = 0, n = x->change.n;
	while (old + 1 < n && x->change.v[old + 1].time_ns < floor_ns)
		old++;
	memmove(x->change.v, x->change.v + old, (n - old) * sizeof(*x->change.v));
	x->change.n -= old;
	x->at = x->at > old ? x->at - old : 0;
}

uint32_t apptimes_append(struct apptimes *t, uint32_t tid, uint64_t time_ns, uint32_t set,
			 uint32_t n, uint64_t floor_ns)
{
	struct timeline *x = timeline_of(t, tid);
	if (!x)
		return 0;
	x->n_new += n;
	size_t n_now = x->change.n, cap = x->change.cap;
	if (n_now && time_ns < x->change.v[n_now - 1].time_ns)
		time_ns = x->change.v[n_now - 1].time_ns;
	if (n_now && n_now == cap)
		drop_old(x, floor_ns);
	VEC_PUSH(&x->change, ((struct change){ time_ns, set }));
	budget_release(t->budget, cap * sizeof(struct change));
	budget_charge_always(t->budget, x->change.cap * sizeof(struct change));
	if (time_ns > x->used_ns)
		x->used_ns = time_ns;
	return x->n_new;
}

uint32_t apptimes_append_gap(struct apptimes *t, uint32_t tid, uint32_t n, uint64_t floor_ns)
{
	const struct timeline *x = idmap_get(&t->thread, tid);
	uint64_t since_ns = x && x->change.n ? x->change.v[x->change.n - 1].time_ns : 0;
	return apptimes_append(t, tid, since_ns, APPTIMES_UNKNOWN, n, floor_ns);
}

bool apptimes_at(struct apptimes *t, uint32_t tid, uint64_t time_ns, uint32_t before,
		 uint32_t *ret_set)
{
	struct timeline *x = idmap_get(&t->thread, tid);
	if (!x)
		return false;
	size_t n = x->change.n;
	if (time_ns > x->used_ns)
		x->used_ns = time_ns;
	if (x->at >= n)
		x->at = 0;
	while (x->at > 0 && x->change.v[x->at].time_ns > time_ns)
		x->at--;
	while (x->at + 1 < n && x->change.v[x->at + 1].time_ns <= time_ns)
		x->at++;
	*ret_set = n && x->change.v[x->at].time_ns <= time_ns ? x->change.v[x->at].set : before;
	return true;
}

void apptimes_forget(struct apptimes *t, const struct idmap *alive, uint64_t since_ns)
{
	struct idmap kept = { 0 };
	for (size_t i = 0; i < t->thread.item.n; i++) {
		struct timeline *x = t->thread.item.v[i].value;
		uint32_t tid = t->thread.item.v[i].id;
		if ((idmap_get(alive, tid) || x->used_ns >= since_ns) &&
		    !idmap_put(&kept, tid, x)) {
			idmap_done(&kept);
			return;
		}
	}
	for (size_t i = 0; i < t->thread.item.n; i++)
		if (!idmap_get(&kept, t->thread.item.v[i].id))
			timeline_free(t, t->thread.item.v[i].value);
	budget_release(t->budget, idmap_n_bytes(&t->thread));
	idmap_done(&t->thread);
	t->thread = kept;
	budget_charge_always(t->budget, idmap_n_bytes(&t->thread));
}

void apptimes_each_set(struct apptimes *t, void (*each)(void *ctx, uint32_t *set), void *ctx)
{
	for (size_t i = 0; i < t->thread.item.n; i++) {
		struct timeline *x = t->thread.item.v[i].value;
		for (size_t k = 0; k < x->change.n; k++)
			if (x->change.v[k].set != APPTIMES_UNKNOWN)
				each(ctx, &x->change.v[k].set);
	}
}
