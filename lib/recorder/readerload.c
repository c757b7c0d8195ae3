/*
 * A reader that is busy for most of the time has no reserve for a burst, and rings overflow.  The
 * time counts as it passes: on a machine where the reader waits for a CPU, more readers help, too.
 * One more follows quickly and one less slowly, because a change empties the readers' caches.
 */

#include "recorder/readerload.h"

#include "cprof.h"

#define PERIOD_NS 500000000u
#define BUSY_PERCENT 60
/* What the remaining readers may be busy when one goes, and for how many periods before. */
#define CALM_PERCENT 35
#define CALM_PERIODS 10

/* A machine that is recorded must be able to do something else. */
#define CPUS_PER_READER 4

uint32_t readerload_max(uint32_t n_cpus)
{
	uint32_t n = n_cpus / CPUS_PER_READER;
	return n < 1 ? 1 : n > CPROF_READERS_MAX ? CPROF_READERS_MAX : n;
}

static uint32_t judge(struct readerload *l, uint32_t n, uint64_t percent)
{
	bool is_calm = n > 1 && percent * n < (uint64_t)CALM_PERCENT * (n - 1);
	l->n_calm = is_calm ? l->n_calm + 1 : 0;
	if (percent >= BUSY_PERCENT && n < l->max)
		return n + 1;
	if (l->n_calm < CALM_PERIODS)
		return n;
	l->n_calm = 0;
	return n - 1;
}

uint32_t readerload_note(struct readerload *l, uint32_t n, uint64_t begin_ns, uint64_t end_ns)
{
	if (!l->since_ns)
		l->since_ns = begin_ns;
	l->busy_ns += end_ns - begin_ns;
	if (l->max < 2 || end_ns - l->since_ns < PERIOD_NS)
		return n;
	uint64_t percent = 100 * l->busy_ns / (end_ns - l->since_ns);
	l->since_ns = end_ns;
	l->busy_ns = 0;
	return judge(l, n, percent);
}
