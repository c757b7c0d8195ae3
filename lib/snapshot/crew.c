/*
 * How many CPUs are idle follows from the number of runnable threads in /proc/loadavg, which the
 * kernel counts at that moment.  Threads of the kernel run for some microseconds now and then, so
 * that the smallest of a few numbers counts.  Once CPUs were idle, threads of the crew may be among
 * the runnable ones, and it is not read again: a crew works for some hundred milliseconds at most.
 */

#include "snapshot/crew.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/rights.h"

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More would mostly wait for each other's locks in the kernel. */
#define THREADS_MAX 4u
/* Taken at once: some hundred microseconds of work. */
#define PARTS_AT_ONCE 16u
/* Below that, it is done before another thread has begun. */
#define PARTS_MIN 128u
#define LOOKS_MAX 4u

static int take_parts(void *ctx, uint32_t index, struct err *e)
{
	struct crew *c = ctx;
	CLEANUP_RIGHTS bool raised = rights_raise();
	(void)index, (void)e;
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

/* proc_loadavg(5): "0.20 0.18 0.12 1/80 11206", this thread included.  0: unknown. */
static unsigned count_runnable(const struct host *h)
{
	char text[128];
	unsigned n;
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "loadavg");
	ssize_t n_bytes = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	text[n_bytes > 0 ? n_bytes : 0] = '\0';
	return sscanf(text, "%*s %*s %*s %u/", &n) == 1 ? n : 0;
}

static unsigned count_idle_cpus(const struct host *h)
{
	cpu_set_t ours;
	unsigned n_idle = 0;
	if (sched_getaffinity(0, sizeof(ours), &ours) < 0)
		return 0;
	unsigned n_cpus = (unsigned)CPU_COUNT(&ours);
	for (unsigned i = 0; i < LOOKS_MAX && n_idle + 1 < n_cpus && n_idle + 1 < THREADS_MAX;
	     i++) {
		unsigned n_runnable = count_runnable(h);
		if (n_runnable && n_runnable + n_idle < n_cpus)
			n_idle = n_cpus - n_runnable;
	}
	return n_idle;
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
