/*
 * A reader that is busy for most of the time has no reserve for a burst, and rings overflow.  The
 * time counts as it passes: on a machine where the reader waits for a CPU, more readers help, too.
 *
 * The rings of a machine with 256 CPUs hold 15 ms of samples, so more readers must follow quickly.
 * A new one has to fill its caches first: therefore their number doubles.  It is halved only after
 * some seconds in which half of them would have had little to do, since that takes a while and
 * empties all caches.  If that was wrong, the next time takes longer.
 */

#include "recorder/readerload.h"

#include "cprof.h"

#define MS UINT64_C(1000000)

/* There are more readers if these are busy all the time for a brief period, or most of a longer
 * one. */
#define BRIEF_NS (100 * MS)
#define BRIEF_PERCENT 90
#define LASTING_NS (500 * MS)
#define LASTING_PERCENT 60

/* Or if a ring was this full, they were busy for half of the time in which it filled, and it is
 * half full again after the round: one slow round alone is no reason. */
#define FULL_PERCENT 75
#define AGAIN_PERCENT 50
/* After a change, rings are still full from before. */
#define SETTLE_NS (40 * MS)

/* What the remaining readers may be busy when half of them go, and for how many periods before. */
#define CALM_PERCENT 35
#define CALM_PERIODS 10u
#define CALM_PERIODS_MAX 640u
/* More readers are needed so soon after there were made fewer: that was wrong. */
#define REGRET_NS (10000 * MS)

/* A machine that is recorded must be able to do something else. */
#define CPUS_PER_READER 4

uint32_t readerload_max(uint32_t n_cpus)
{
	uint32_t n = n_cpus / CPUS_PER_READER;
	return n < 1 ? 1 : n > CPROF_READERS_MAX ? CPROF_READERS_MAX : n;
}

static void start_span(struct readerload_span *s, uint64_t now_ns)
{
	*s = (struct readerload_span){ .since_ns = now_ns };
}

/* Percentage of the span that the readers were busy. */
static uint64_t percent_of(const struct readerload_span *s, uint64_t now_ns)
{
	return now_ns > s->since_ns ? 100 * s->busy_ns / (now_ns - s->since_ns) : 0;
}

static uint32_t change(struct readerload *l, uint32_t n, uint64_t now_ns)
{
	start_span(&l->brief, now_ns);
	start_span(&l->lasting, now_ns);
	l->changed_ns = now_ns;
	l->n_calm = 0;
	return n;
}

static uint32_t add(struct readerload *l, uint32_t n, uint64_t now_ns)
{
	if (n >= l->max)
		return n;
	if (l->fewer_ns && now_ns - l->fewer_ns < REGRET_NS && l->calm_needed < CALM_PERIODS_MAX)
		l->calm_needed *= 2;
	return change(l, n < l->max / 2 ? 2 * n : l->max, now_ns);
}

static uint32_t halve(struct readerload *l, uint32_t n, uint64_t now_ns)
{
	l->fewer_ns = now_ns;
	return change(l, n / 2, now_ns);
}

/* A ring filled since the last round began, although the readers were at work, and at that rate has
 * half filled again in this one.  If they were not at work, the caller came late, and more of them
 * would be late as well. */
static bool is_too_slow(const struct readerload *l, const struct readerload_round *now)
{
	const struct readerload_round *last = &l->last;
	if (!last->end_ns || now->fullest_percent < FULL_PERCENT ||
	    (l->changed_ns && now->begin_ns - l->changed_ns < SETTLE_NS))
		return false;
	uint64_t filled_ns = now->begin_ns - last->begin_ns, now_ns = now->end_ns - now->begin_ns;
	return 2 * (last->end_ns - last->begin_ns + now->rest_ns) >= filled_ns &&
	       now->fullest_percent * now_ns >= AGAIN_PERCENT * filled_ns;
}

/* After a longer period. */
static uint32_t judge(struct readerload *l, uint32_t n, uint64_t now_ns)
{
	uint64_t percent = percent_of(&l->lasting, now_ns);
	start_span(&l->lasting, now_ns);
	if (percent >= LASTING_PERCENT)
		return add(l, n, now_ns);
	bool is_calm = n > 1 && percent * n < (uint64_t)CALM_PERCENT * (n / 2);
	l->n_calm = is_calm ? l->n_calm + 1 : 0;
	return is_calm && l->n_calm >= l->calm_needed ? halve(l, n, now_ns) : n;
}

uint32_t readerload_note(struct readerload *l, uint32_t n, const struct readerload_round *round)
{
	uint64_t busy_ns = round->end_ns - round->begin_ns + round->rest_ns;
	uint64_t now_ns = round->end_ns;
	if (l->max < 2)
		return n;
	if (!l->last.end_ns) {
		l->calm_needed = CALM_PERIODS;
		change(l, n, round->begin_ns);
		l->changed_ns = 0;
	}
	bool too_slow = is_too_slow(l, round);
	l->last = *round;
	l->brief.busy_ns += busy_ns;
	l->lasting.busy_ns += busy_ns;
	if (too_slow)
		return add(l, n, now_ns);
	if (now_ns - l->brief.since_ns >= BRIEF_NS) {
		uint64_t percent = percent_of(&l->brief, now_ns);
		start_span(&l->brief, now_ns);
		if (percent >= BRIEF_PERCENT)
			return add(l, n, now_ns);
	}
	return now_ns - l->lasting.since_ns >= LASTING_NS ? judge(l, n, now_ns) : n;
}
