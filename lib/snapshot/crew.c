/*
 * How many CPUs are idle follows from the number of runnable threads.  Once CPUs were idle, threads
 * of the crew may be among these, and they are not counted again: a crew works for some hundred
 * milliseconds at most.
 */

#include "snapshot/crew.h"

#include "base/rights.h"
#include "snapshot/idlecpus.h"
#include "snapshot/keepoff.h"

#include <sched.h>

/* More would mostly wait for each other's locks in the kernel. */
#define THREADS_MAX CREW_THREADS_MAX
/* Taken at once: some hundred microseconds of work. */
#define PARTS_AT_ONCE 16u
/* Below that, it is done before another thread has begun. */
#define PARTS_MIN 128u

static int take_parts(void *ctx, uint32_t index, struct err *e)
{
	struct crew *c = ctx;
	CLEANUP_RIGHTS bool raised = rights_raise();
	unsigned always = 0;
	(void)e;
	if (index && c->keepoff)
		keepoff_help(c->keepoff, index < THREADS_MAX ? &c->version[index] : &always);
	for (;;) {
		size_t first = __atomic_fetch_add(&c->next, PARTS_AT_ONCE, __ATOMIC_RELAXED);
		if (first >= c->n)
			return 0;
		size_t end = c->n - first < PARTS_AT_ONCE ? c->n : first + PARTS_AT_ONCE;
		c->fn(c->ctx, first, end);
	}
}

void crew_init(struct crew *c, const struct host *h)
{
	*c = (struct crew){ .host = h };
	readerpool_init(&c->pool);
	c->pool.work = take_parts;
	c->pool.ctx = c;
}

void crew_done(struct crew *c)
{
	readerpool_done(&c->pool);
}

static unsigned count_idle_cpus(const struct host *h)
{
	cpu_set_t ours;
	if (sched_getaffinity(0, sizeof(ours), &ours) < 0)
		return 0;
	unsigned n_cpus = (unsigned)CPU_COUNT(&ours), n_wanted = THREADS_MAX - 1;
	unsigned n_runnable = idlecpus_runnable(h, n_cpus > n_wanted ? n_cpus - n_wanted : 1, 0);
	return n_runnable && n_runnable < n_cpus ? n_cpus - n_runnable : 0;
}

static uint32_t count_threads(struct crew *c, size_t n)
{
	if (c->n_readers != CREW_AUTO)
		return c->n_readers > 1 ? c->n_readers : 1;
	if (n < PARTS_MIN)
		return 1;
	if (!c->n_idle)
		c->n_idle = count_idle_cpus(c->host);
	return c->n_idle + 1 < THREADS_MAX ? c->n_idle + 1 : THREADS_MAX;
}

void crew_run(struct crew *c, size_t n, crew_fn *fn, void *ctx)
{
	uint32_t n_threads = count_threads(c, n);
	c->pool.on_thread = c->on_reader;
	c->pool.on_thread_ctx = c->on_reader_ctx;
	/* without memory for more threads, this one does everything */
	if (n_threads > 1 && readerpool_fit(&c->pool, n_threads, NULL) < 0)
		n_threads = 1;
	c->fn = fn;
	c->ctx = ctx;
	c->n = n;
	c->next = 0;
	if (n_threads > 1)
		readerpool_run(&c->pool, n_threads, NULL);
	else
		fn(ctx, 0, n);
}
