/*
 * The kernel shows no registers of a thread that runs.  A sample shows them without stopping it.
 * With --stop the threads are stopped instead, all at the same time, so that their stacks belong to
 * one moment; nothing but registers and stacks is read until they go on.
 */

#include "snapshot/take.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/host.h"
#include "base/vec.h"
#include "event/evattr.h"
#include "snapshot/oneshot.h"
#include "snapshot/interps.h"
#include "snapshot/snapshot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS_MAX 4u

struct running {
	struct take *take;
	VEC(uint32_t) index, tid;       /* of threads */
};

/* Most of those that were running are waiting again by now. */
static int list_running(struct take *t, struct running *r)
{
	r->index.n = r->tid.n = 0;
	for (size_t i = 0; i < t->scan.threads.n; i++) {
		const struct threadscan_thread *thread = &t->scan.threads.v[i];
		if (thread->look != THREADSCAN_RUNNING || thread->is_done ||
		    thread->stat.is_kernel || !snapshot_threads_wants(t, thread))
			continue;
		threadscan_again(&t->scan, i);
		if (thread->look != THREADSCAN_RUNNING)
			continue;
		if (!VEC_PUSH(&r->index, (uint32_t)i) || !VEC_PUSH(&r->tid, thread->tid))
			return -ENOMEM;
	}
	return 0;
}

/* ---- samples -------------------------------------------------------------------------------- */

static void add_sampled(void *ctx, size_t i, const struct record *r)
{
	const struct running *x = ctx;
	snapshot_threads_add_sampled(x->take, &x->take->scan.threads.v[x->index.v[i]], r);
}

static void sample_listed(struct running *x)
{
	struct take *t = x->take;
	oneshot_take(&(struct oneshot){
		.open = t->o->open, .host = t->o->host, .end_ns = t->scan.end_ns,
		.sample = add_sampled, .ctx = x,
	}, x->tid.v, x->tid.n);
}

/* A thread that waits when it is to be sampled may run when it is read. */
static int sample_all(struct running *x)
{
	int r = list_running(x->take, x);
	for (unsigned i = 0; i < ROUNDS_MAX && r == 0 && x->index.n; i++) {
		sample_listed(x);
		r = list_running(x->take, x);
	}
	return r;
}

/* ---- stops ---------------------------------------------------------------------------------- */

/* The register with perf's number, given those of evattr_user_regs(). */
static uint64_t reg_of(const uint64_t *reg, uint8_t number)
{
	uint64_t below = evattr_user_regs() & ((UINT64_C(1) << number) - 1);
	return reg[__builtin_popcountll(below)];
}

static bool may_stop(const struct take *t, const struct threadscan_thread *thread)
{
	bool is_wanted = t->o->stop == SNAPSHOT_STOP_ALL ?
			 thread->look == THREADSCAN_STILL || thread->look == THREADSCAN_MOVED ||
			 thread->look == THREADSCAN_MOVING || thread->look == THREADSCAN_RUNNING :
			 thread->look == THREADSCAN_RUNNING;
	char state = thread->stat.state;
	return is_wanted && snapshot_threads_wants(t, thread) && !thread->stat.is_kernel &&
	       state != 'D' &&
	       state != 'Z' && state != 'X';
}

static int list_stops(struct take *t)
{
	struct threadstop *s = &t->stopped;
	if (!threadstop_init(s, t->scan.threads.n))
		return -ENOMEM;
	for (size_t i = 0; i < t->scan.threads.n; i++) {
		struct threadscan_thread *thread = &t->scan.threads.v[i];
		if (!may_stop(t, thread))
			continue;
		s->thread[s->n++].tid = thread->tid;
		thread->stop = (uint32_t)s->n;
		thread->has_details &= threadscan_is_still(&t->scan, thread);
	}
	return 0;
}

/* The registers of those that stopped replace what was known. */
static void take_stopped(struct take *t)
{
	for (size_t i = 0; i < t->scan.threads.n; i++) {
		struct threadscan_thread *thread = &t->scan.threads.v[i];
		const uint64_t *reg = take_regs(t, thread);
		if (!reg)
			continue;
		if (!t->stopped.thread[thread->stop - 1].is_stopped) {
			thread->stop = 0;
			continue;
		}
		bool is_running = thread->look == THREADSCAN_RUNNING;
		if (!thread->has_details)
			thread->call = (struct threadread_call){ .syscall = -1 };
		thread->call.sp = reg_of(reg, t->regs.sp);
		thread->call.pc = reg_of(reg, t->regs.pc);
		thread->look = is_running ? THREADSCAN_STOPPED : THREADSCAN_STILL;
	}
}

/* The process that traces the thread; 0: none.  False: the thread has ended. */
static bool read_tracer(const struct take *t, uint32_t tid, uint32_t *ret_pid)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(t->o->host, HOST_PROC, &status, NULL, "%u/status", tid) < 0)
		return false;
	const char *p = strstr(status, "\nTracerPid:");
	*ret_pid = p ? (uint32_t)strtoul(p + 11, NULL, 10) : 0;
	return true;
}

static void name_tracer(const struct take *t, uint32_t pid)
{
	CLEANUP_FREE char *text = NULL;
	t->s->tracer = pid;
	if (host_read_file(t->o->host, HOST_PROC, &text, NULL, "%u/comm", pid) == 0)
		snprintf(t->s->tracer_name, sizeof(t->s->tracer_name), "%.*s",
			 (int)strcspn(text, "\n"), text);
}

/* A thread that another program traces cannot be stopped, nor one that does not answer. */
static void note_not_stopped(const struct take *t)
{
	for (size_t i = 0; i < t->stopped.n; i++) {
		uint32_t tracer;
		if (t->stopped.thread[i].is_stopped ||
		    !read_tracer(t, t->stopped.thread[i].tid, &tracer))
			continue;
		t->s->n_not_stopped++;
		if (tracer && !t->s->tracer)
			name_tracer(t, tracer);
	}
}

static int stop_all(struct take *t)
{
	if (list_stops(t) < 0)
		return -ENOMEM;
	interps_before_stop(t);
	uint64_t from_ns = clock_monotonic_ns();
	size_t n_stopped = threadstop_begin(&t->stopped, t->o->host);
	take_stopped(t);
	threadscan_stacks(&t->scan);
	interps_read_stopped(t);
	threadstop_end(&t->stopped);
	uint64_t to_ns = clock_monotonic_ns();
	t->s->n_stopped = n_stopped;
	t->s->stopped_ns = to_ns - from_ns;
	note_not_stopped(t);
	if (t->o->stop == SNAPSHOT_STOP_ALL) {
		t->s->from_ns = from_ns;
		t->s->to_ns = to_ns;
	}
	return 0;
}

int take_running(struct take *t)
{
	struct running x = { .take = t };
	int r = t->o->stop == SNAPSHOT_STOP_NEVER ? 0 : stop_all(t);
	if (r == 0)
		r = sample_all(&x);
	VEC_FREE(&x.index);
	VEC_FREE(&x.tid);
	return r;
}
