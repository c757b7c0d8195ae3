/* Samples of wake-ups: since when a thread waits for a CPU only, and who has ended its wait. */

#include "engine/waits.h"

#include "engine/waits-sum.h"
#include "source/record.h"
#include "source/schedpoint.h"

#include <string.h>

static bool woken_tid(const struct record *r, uint32_t *ret_tid)
{
	if (r->sample.n_raw_bytes < SCHEDPOINT_WAKE_BYTES)
		return false;
	memcpy(ret_tid, (const uint8_t *)r->sample.raw + SCHEDPOINT_WAKE_TID_AT, sizeof(*ret_tid));
	return true;
}

bool waits_woken(const struct record *r, uint32_t *ret_tid)
{
	const uint8_t *raw = r->sample.raw;
	return woken_tid(r, ret_tid) && !(raw[SCHEDPOINT_WAKE_FLAGS_AT] & SCHEDPOINT_INTERRUPT);
}

void waits_note_wake(struct waits *w, const struct record *r)
{
	uint32_t tid;
	struct waits_thread *t = woken_tid(r, &tid) ? waits_find(w, tid) : NULL;
	if (t && t->is != WAITS_ON_CPU && !t->is_preempted && !t->is_new && !t->woken_ns)
		t->woken_ns = r->time_ns;
}

bool waits_wants_waker(const struct waits *w, uint32_t tid)
{
	const struct waits_thread *t = waits_find(w, tid);
	return t && t->is == WAITS_OFF_CPU && !t->is_preempted && !waits_is_known(t->waker) &&
	       waits_sum_may_be_lock(w, t->at);
}

void waits_wake(struct waits *w, uint32_t tid, uint64_t weight, struct waits_place waker)
{
	struct waits_thread *t = waits_find(w, tid);
	if (!t)
		return;
	t->waker = waker;
	t->weight = (weight ? weight : 1) * (w->wake_scale ? w->wake_scale : 1);
}
