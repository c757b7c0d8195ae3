/*
 * Reports may come later than readings that follow the change: a virtual CPU may stop between the
 * moment that a report names and the moment when it can be read.  Such a change is put where it
 * belongs, and the readings after it are corrected.
 *
 * A thread may lose its CPU between the report and the change, for any time.  A reading then shows
 * the labels from before the last change, and proves nothing but who was there.
 *
 * A change is reported at the entry of the function that makes it, a moment before it is in memory.
 * If one is that close to a reading, nobody knows whether the reading has seen it, so the reading
 * then proves only who was there, and the labels follow from the changes.
 *
 * A thread that loses its CPU at that entry may report the same change twice.
 *
 * The reader, too, can lose its CPU between its clock and the memory.  So a reading says who was
 * there before its begin and after its end, and nothing about the time between.
 */
#include "labels/gotimes.h"

#define CLOSE_NS 1000000u

void gotimes_done(struct gotimes *t)
{
	VEC_FREE(&t->event);
	t->newest_ns = 0;
}

/* Drops what is older than floor_ns, except the last reading before it and what follows that. */
static void drop_old(struct gotimes *t, uint64_t floor_ns)
{
	size_t old = 0, n = t->event.n;
	for (size_t i = 0; i < n && t->event.v[i].time_ns < floor_ns; i++)
		if (!t->event.v[i].is_change)
			old = i;
	if (!old)
		return;
	memmove(t->event.v, t->event.v + old, (n - old) * sizeof(*t->event.v));
	t->event.n -= old;
}

/* NULL: no memory. */
static struct gotimes_event *insert(struct gotimes *t, const struct gotimes_event *e,
				    uint64_t floor_ns)
{
	if (t->event.n == t->event.cap)
		drop_old(t, floor_ns);
	if (!VEC_RESERVE(&t->event, 1))
		return NULL;
	size_t i = t->event.n++;
	for (; i > 0 && t->event.v[i - 1].time_ns > e->time_ns; i--)
		t->event.v[i] = t->event.v[i - 1];
	t->event.v[i] = *e;
	return &t->event.v[i];
}

/* The goroutine of the last reading before an event; 0: unknown. */
static uint64_t who_before(const struct gotimes *t, const struct gotimes_event *e)
{
	while (e-- > t->event.v)
		if (!e->is_change)
			return e->who;
	return 0;
}

bool gotimes_change(struct gotimes *t, const struct gotimes_changed *c, uint64_t floor_ns)
{
	struct gotimes_event *e = insert(t, &(struct gotimes_event){
		.time_ns = c->time_ns, .set = c->set, .is_change = true,
		.slot = c->slot, .is_birth = c->is_birth }, floor_ns);
	if (!e)
		return false;
	if (c->is_birth)
		return true;
	const struct gotimes_event *end = t->event.v + t->event.n;
	uint64_t who = e + 1 < end ? who_before(t, e) : 0;
	for (e++; e < end && !e->is_change; e++)
		e->set = e->who == who ? c->set : GOTIMES_UNKNOWN;
	return true;
}

/* The events around a time; NULL: there is none. */
struct around {
	const struct gotimes_event *before;     /* the last reading that had ended */
	const struct gotimes_event *during;     /* the one that was going on */
	const struct gotimes_event *after;      /* the next reading */
	const struct gotimes_event *change;     /* the last one since before */
	bool changes_later;                     /* there is one until after */
};

/* The number of events up to time_ns. */
static size_t n_until(const struct gotimes *t, uint64_t time_ns)
{
	size_t low = 0, high = t->event.n;
	while (low < high) {
		size_t mid = low + (high - low) / 2;
		if (t->event.v[mid].time_ns <= time_ns)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static struct around look_around(const struct gotimes *t, uint64_t time_ns)
{
	struct around a = { .before = NULL };
	size_t n = n_until(t, time_ns);
	for (size_t i = n; i-- > 0 && !a.before;) {
		const struct gotimes_event *e = &t->event.v[i];
		if (e->is_change)
			a.change = a.change ? a.change : e;
		else if (e->until_ns <= time_ns)
			a.before = e;
		else
			a.during = e;
	}
	for (size_t i = n; i < t->event.n && !a.after; i++) {
		const struct gotimes_event *e = &t->event.v[i];
		a.changes_later |= e->is_change;
		if (!e->is_change)
			a.after = e;
	}
	return a;
}

/* 0: none. */
static uint64_t last_change_ns(const struct gotimes *t)
{
	for (size_t i = t->event.n; i-- > 0;)
		if (t->event.v[i].is_change)
			return t->event.v[i].time_ns;
	return 0;
}

/* Do the labels of an event follow from earlier events only? */
static bool is_derived(const struct gotimes_event *e)
{
	return !e->is_change && e->is_complete && (e->is_close || e->set == GOTIMES_UNKNOWN);
}

/* Has the change been reported, but not been made?  Then memory has the labels from before it. */
static bool is_not_made(const struct gotimes *t, const struct gotimes_event *change, uint32_t set)
{
	const struct gotimes_event *e = change;
	while (e > t->event.v && (is_derived(e) || (e->is_change && e->set == change->set)))
		e--;
	return e->set == set;
}

/* The event that says which labels who must have at that time: a change, or a reading.  Readings
 * that prove nothing but who was there are passed over.  NULL: there is none. */
static const struct gotimes_event *expected_by(const struct gotimes *t, uint64_t time_ns,
					       uint64_t who)
{
	for (size_t i = n_until(t, time_ns); i-- > 0;) {
		const struct gotimes_event *e = &t->event.v[i];
		if (e->is_change)
			return e;
		if (e->who != who)
			return NULL;
		if (!is_derived(e))
			return e;
	}
	return NULL;
}

/* Since when all changes and all creations were reported; UINT64_MAX: they were not. */
static uint64_t all_since(uint64_t reported_ns, uint64_t births_ns)
{
	if (!reported_ns || !births_ns)
		return UINT64_MAX;
	return reported_ns > births_ns ? reported_ns : births_ns;
}

/* The event that says which labels the goroutine there must have.  NULL: it is unknown. */
static const struct gotimes_event *owned_by(const struct gotimes *t, uint64_t time_ns,
					    uint64_t since_ns)
{
	for (size_t i = n_until(t, time_ns); i-- > 0;) {
		const struct gotimes_event *e = &t->event.v[i];
		if (e->time_ns < since_ns)
			return NULL;
		bool is_vague = e->is_close || e->until_ns > time_ns || is_derived(e);
		if (!e->is_change && (is_vague || e->is_dead || !e->who))
			continue;
		return e->set == GOTIMES_UNKNOWN ? NULL : e;
	}
	return NULL;
}

uint32_t gotimes_owned(const struct gotimes *t, uint64_t time_ns, uint64_t since_ns)
{
	const struct gotimes_event *e = owned_by(t, time_ns, since_ns);
	return e ? e->set : GOTIMES_UNKNOWN;
}

enum gotimes_check gotimes_read(struct gotimes *t, const struct gotimes_reading *r,
				uint64_t floor_ns)
{
	const struct around a = look_around(t, r->before_ns);
	struct gotimes_event e = {
		.time_ns = r->before_ns, .until_ns = r->after_ns, .who = r->who, .set = r->set,
		.is_dead = r->is_dead,
		.is_complete = r->reported_ns && a.before && a.before->time_ns >= r->reported_ns,
	};
	bool is_same = a.before && r->who && a.before->who == r->who;
	uint64_t change_ns = last_change_ns(t);
	e.is_close = change_ns && change_ns + CLOSE_NS > r->before_ns;
	uint64_t since_ns = all_since(r->reported_ns, r->births_ns);
	const struct gotimes_event *by = is_same ? expected_by(t, r->before_ns, r->who)
						 : owned_by(t, r->before_ns, since_ns);
	bool is_known = is_same ? e.is_complete : by && r->who;
	uint32_t expected = by ? by->set : GOTIMES_UNKNOWN;
	enum gotimes_check check = GOTIMES_FINE;
	if (e.is_close) {
		e.set = expected;
	} else if (is_known && !r->is_dead && expected != GOTIMES_UNKNOWN &&
		   r->set != GOTIMES_UNKNOWN && expected != r->set) {
		e.set = GOTIMES_UNKNOWN;
		check = by->is_change && is_not_made(t, by, r->set) ? GOTIMES_FINE : GOTIMES_MISSED;
	}
	e.is_complete &= check == GOTIMES_FINE;
	if (!insert(t, &e, floor_ns))
		return GOTIMES_NO_MEMORY;
	if (r->before_ns > t->newest_ns)
		t->newest_ns = r->before_ns;
	t->reported_ns = r->reported_ns;
	t->births_ns = r->births_ns;
	return check;
}

/* Between two readings of the same goroutine. */
static enum gotimes_how between(const struct around *a, struct gotimes_answer *ret)
{
	uint32_t set = a->change ? a->change->set : a->before->set;
	ret->who = a->before->who;
	bool is_complete = a->after->is_complete && (!a->during || a->during->is_complete);
	if (is_complete && set != GOTIMES_UNKNOWN) {
		ret->set = set;
		return GOTIMES_EXACT;
	}
	bool is_over = a->after->is_dead || a->after->set == GOTIMES_UNKNOWN;
	ret->set = a->change || is_over ? set : a->after->set;
	ret->is_between = a->before->set != GOTIMES_UNKNOWN && !is_over;
	ret->has_changed = ret->is_between && a->before->set != a->after->set;
	return ret->set == GOTIMES_UNKNOWN ? GOTIMES_NOTHING : GOTIMES_LATE;
}

/* The change that the goroutine had made, and had to make another one before its end; or NULL. */
static const struct gotimes_event *entered_at(const struct gotimes *t, uint64_t time_ns)
{
	size_t i = n_until(t, time_ns);
	while (i > 0 && !t->event.v[i - 1].is_change)
		i--;
	const struct gotimes_event *e = i > 0 ? &t->event.v[i - 1] : NULL;
	return e && e->slot && e->set != GOTIMES_UNKNOWN && t->reported_ns &&
	       e->time_ns >= t->reported_ns ? e : NULL;
}

enum gotimes_how gotimes_at(const struct gotimes *t, uint64_t time_ns, struct gotimes_answer *ret)
{
	const struct around a = look_around(t, time_ns);
	const struct gotimes_event *entered = entered_at(t, time_ns);
	*ret = (struct gotimes_answer){ .set = GOTIMES_UNKNOWN };
	if (!a.after)
		return GOTIMES_NOTHING;
	if (entered) {
		ret->set = entered->set;
		ret->slot = entered->slot;
		ret->read_ns = a.after->time_ns;
		ret->who = a.before && a.before->who == a.after->who ? a.after->who : 0;
		return GOTIMES_EXACT;
	}
	const struct gotimes_event *owned =
		owned_by(t, time_ns, all_since(t->reported_ns, t->births_ns));
	ret->read_ns = a.after->time_ns;
	if (owned) {
		bool is_read = !owned->is_change;
		bool is_same = a.before && a.before->who == a.after->who;
		ret->set = owned->set;
		ret->who = is_read ? owned->who : is_same ? a.after->who : 0;
		ret->is_owned = true;
		return GOTIMES_EXACT;
	}
	ret->is_nobody = !a.after->who && (!a.before || !a.before->who);
	if (a.before && a.before->who && a.before->who == a.after->who)
		return between(&a, ret);
	/* it may have been another goroutine's at that time */
	if (a.before || !a.after->who || a.after->is_dead ||
	    (a.during && a.during->who != a.after->who))
		return GOTIMES_NOTHING;
	if (a.changes_later && !a.change)
		return GOTIMES_NOTHING;
	ret->who = a.after->who;
	bool is_unknown = a.change && a.change->is_birth && a.change->set == GOTIMES_UNKNOWN;
	ret->set = a.change && !is_unknown ? a.change->set : a.after->set;
	return ret->set == GOTIMES_UNKNOWN ? GOTIMES_NOTHING : GOTIMES_LATE;
}

void gotimes_each_set(struct gotimes *t, void (*each)(void *ctx, uint32_t *set), void *ctx)
{
	for (size_t i = 0; i < t->event.n; i++)
		if (t->event.v[i].set != GOTIMES_UNKNOWN)
			each(ctx, &t->event.v[i].set);
}
