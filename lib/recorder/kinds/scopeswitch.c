/*
 * Births times the period is the most that short threads can hide; a few do not matter.  If they
 * could, the events' counters and the kernel's account say how much is really missing.  Two looks
 * in a row must agree: the threads of a pool, which are born at the same time and then live on, are
 * missed once.
 *
 * Back again after a while without short threads, and only if other tasks make events of CPUs
 * expensive.  Each time that this was wrong the while doubles, so that a program with phases does
 * not change all the time.
 *
 * Without births, a large part may be missing because the kernel has removed the events: from a
 * process that executed a file which is set-user-ID or may not be read.
 */

#include "recorder/kinds/scopeswitch.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

#define LOOK_NS (50 * MS)
#define LOOK_NS_MAX (2 * SECOND)
#define LOOKS 2u
#define MISSING_SHARE 20u          /* of what was used matter: 5 % */
#define REMOVED_SHARE 3u           /* without births */
#define MISSING_PERIODS 10u
#define QUIET_SHARE 40u
#define FOREIGN_SHARE 8u
#define HOLD_NS_MIN (2 * SECOND)
#define HOLD_NS_MAX (64 * SECOND)
#define FORGET 8u
#define RETRY_NS SECOND

/* The totals since the look began. */
static struct scopeswitch_seen since(const struct scopeswitch_seen *base,
				     const struct scopeswitch_seen *now)
{
	struct scopeswitch_seen d = *now;
	d.now_ns -= base->now_ns;
	d.n_born -= base->n_born;
	d.n_samples -= base->n_samples;
	d.n_foreign -= base->n_foreign;
	d.covered -= base->covered;
	d.used_known = now->used_known && base->used_known && now->used >= base->used;
	d.used = d.used_known ? now->used - base->used : d.covered;
	d.counted_known = now->counted_known && base->counted_known &&
			  now->counted >= base->counted;
	d.counted = d.counted_known ? now->counted - base->counted : d.covered;
	return d;
}

/* The profile was cleared, and its numbers began anew. */
static bool is_restarted(const struct scopeswitch_seen *base, const struct scopeswitch_seen *now)
{
	return now->n_born < base->n_born || now->n_samples < base->n_samples ||
	       now->n_foreign < base->n_foreign || now->covered < base->covered;
}

/* The most that the threads born since could hide. */
static uint64_t hidden(const struct scopeswitch_seen *d)
{
	return d->n_born * d->period;
}

static uint64_t not_sampled(const struct scopeswitch_seen *d)
{
	if (!d->used_known && !d->counted_known)
		return hidden(d);
	uint64_t by_account = d->used > d->covered + d->used_error ? d->used - d->covered : 0;
	/* Counters of threads that may be no targets count, too: see livescan_thread. */
	uint64_t sampled = d->covered + d->n_foreign * d->period;
	uint64_t by_counter = d->counted > sampled ? d->counted - sampled : 0;
	return by_account > by_counter ? by_account : by_counter;
}

static void begin_look(struct scopeswitch *w, const struct scopeswitch_seen *now)
{
	w->base = *now;
	w->has_base = true;
}

int scopeswitch_timeout_ms(const struct scopeswitch *w)
{
	return w->is_cpu || w->is_calm ? -1 : (int)(LOOK_NS / MS);
}

bool scopeswitch_wants_account(struct scopeswitch *w, const struct scopeswitch_seen *now)
{
	if (w->is_cpu || now->now_ns < w->retry_ns)
		return false;
	if (!w->has_base || is_restarted(&w->base, now))
		return true;
	const struct scopeswitch_seen d = since(&w->base, now);
	w->is_calm = !d.n_born;
	return d.now_ns >= LOOK_NS_MAX ||
	       (d.now_ns >= LOOK_NS && hidden(&d) * MISSING_SHARE >= d.covered && d.n_born);
}

static enum scopeswitch_verdict look_at_threads(struct scopeswitch *w,
						const struct scopeswitch_seen *now,
						unsigned *ret_percent)
{
	const struct scopeswitch_seen d = since(&w->base, now);
	uint64_t missing = not_sampled(&d), used = d.covered + missing;
	bool is_born = d.n_born && hidden(&d) * MISSING_SHARE >= used;
	bool matters = missing * MISSING_SHARE >= used && missing >= MISSING_PERIODS * d.period;
	bool is_removed = d.used_known && missing * REMOVED_SHARE >= used &&
			  d.now_ns >= LOOK_NS_MAX;
	if (missing && matters && (is_born || is_removed)) {
		begin_look(w, now);
		*ret_percent = (unsigned)(missing * 100 / used);
		return ++w->n_looks >= LOOKS ? SCOPESWITCH_TO_CPU : SCOPESWITCH_STAY;
	}
	if (d.now_ns >= LOOK_NS_MAX) {
		begin_look(w, now);
		w->n_looks = 0;
	}
	return SCOPESWITCH_STAY;
}

static enum scopeswitch_verdict look_at_cpus(struct scopeswitch *w,
					     const struct scopeswitch_seen *now)
{
	const struct scopeswitch_seen d = since(&w->base, now);
	if (d.now_ns < LOOK_NS)
		return SCOPESWITCH_STAY;
	bool is_quiet = hidden(&d) * QUIET_SHARE <= d.covered;
	begin_look(w, now);
	if (!is_quiet || !w->is_quiet) {
		w->quiet = *now;
		w->is_quiet = is_quiet;
		return SCOPESWITCH_STAY;
	}
	const struct scopeswitch_seen all = since(&w->quiet, now);
	bool is_dear = all.n_foreign && all.n_foreign >= all.n_samples / FOREIGN_SHARE;
	return all.now_ns >= w->hold_ns && is_dear ? SCOPESWITCH_TO_TASK : SCOPESWITCH_STAY;
}

enum scopeswitch_verdict scopeswitch_look(struct scopeswitch *w,
					  const struct scopeswitch_seen *now,
					  unsigned *ret_percent)
{
	*ret_percent = 0;
	if (now->now_ns < w->retry_ns)
		return SCOPESWITCH_STAY;
	if (w->is_quiet && is_restarted(&w->quiet, now))
		w->quiet = (struct scopeswitch_seen){ .now_ns = w->quiet.now_ns };
	if (!w->has_base || is_restarted(&w->base, now)) {
		begin_look(w, now);
		return SCOPESWITCH_STAY;
	}
	return w->is_cpu ? look_at_cpus(w, now) : look_at_threads(w, now, ret_percent);
}

void scopeswitch_changed(struct scopeswitch *w, const struct scopeswitch_seen *now, bool is_cpu)
{
	if (is_cpu) {
		bool is_soon = w->back_ns && now->now_ns - w->back_ns < FORGET * w->hold_ns;
		w->hold_ns = is_soon ? w->hold_ns * 2 : HOLD_NS_MIN;
		if (w->hold_ns > HOLD_NS_MAX)
			w->hold_ns = HOLD_NS_MAX;
	} else {
		w->back_ns = now->now_ns;
	}
	w->is_cpu = is_cpu;
	w->pause_ns = 0;
	scopeswitch_interrupt(w);
}

void scopeswitch_failed(struct scopeswitch *w, uint64_t now_ns)
{
	/* Each attempt may cost as much as the opening of a thousand events. */
	w->pause_ns = w->pause_ns ? w->pause_ns * 2 : RETRY_NS;
	if (w->pause_ns > HOLD_NS_MAX)
		w->pause_ns = HOLD_NS_MAX;
	w->retry_ns = now_ns + w->pause_ns;
	scopeswitch_interrupt(w);
}

void scopeswitch_interrupt(struct scopeswitch *w)
{
	w->has_base = w->is_quiet = false;
	w->n_looks = 0;
	w->is_calm = false;
}
