/*
 * fork(2) and clone(2) first copy the caller's events (perf_event_init_task() in kernel/fork.c),
 * then its memory, which may take long, and last of all the child appears in /proc.  If events are
 * opened on the caller meanwhile, the child has no copies of them, and no scan finds it: neither it
 * nor its descendants would ever be sampled.
 *
 * A thread is in at most one such call.  So the child may be the one in the first FORK record of
 * each thread since its events were opened; or it has appeared before they were enabled, and a
 * second scan finds it.  Events are opened on both.  If the child has inherited others, its own do
 * not count (live_is_double), and are closed.
 */

#include "source/live/livebirth.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "source/live/live-private.h"
#include "source/live/livescan.h"
#include "source/live/livestack.h"
#include "source/source-ring.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* How long a call may take: a thread's is short, and a process may have much memory. */
#define THREAD_NS CLOCK_SECOND_NS
#define PROCESS_NS (10 * CLOCK_SECOND_NS)

/* Until its events are open, a child is not sampled: at first the rings are read often. */
#define STEP_MS_MIN 5
#define STEP_PART 8u

/* While events are opened, the rings are not read. */
#define OPEN_NS_MAX 20000000u

/* ---- opening ----------------------------------------------------------------------- */

static bool has_own_events(const struct live *l, uint32_t tid)
{
	for (size_t i = l->fds.n; i-- > 0;)
		if (l->fds.v[i].tid == tid)
			return true;
	return false;
}

/* Both lists stay sorted. */
static bool add_late(struct live *l, uint32_t tid)
{
	const struct live_late late = { .tid = tid };
	if (!VEC_PUSH(&l->late, late))
		return false;
	live_sort_late(l->late.v, l->late.n);
	for (size_t i = 0; i < l->n_rings; i++) {
		struct live_ring *r = &l->ring[i];
		if (!r->has_late)
			continue;
		if (!VEC_PUSH(&r->late, late))
			return false;
		live_sort_late(r->late.v, r->late.n);
	}
	return true;
}

static void enable(struct live *l, size_t n_old)
{
	for (size_t i = n_old; i < l->fds.n; i++) {
		const struct live_fd *f = &l->fds.v[i];
		struct live_id *id = live_find_id(l, f->id);
		if (id && l->scope.is_changing)
			id->since_ns = l->scope.cut_ns;
		if (f->event == RECORD_NO_EVENT || !l->event[f->event].paused)
			ioctl(f->fd, PERF_EVENT_IOC_ENABLE, 0);
	}
}

static int open_thread(void *ctx, const struct livescan_thread *t, struct err *e)
{
	struct live *l = ctx;
	struct livebirth *b = &l->births;
	size_t n_old = l->fds.n;
	if (has_own_events(l, (uint32_t)t->tid))
		return 0;
	CLEANUP_FREE bool *found = calloc(l->options.n_events, sizeof(*found));
	if (!found || !VEC_RESERVE(&b->opened, 1) || !add_late(l, (uint32_t)t->tid))
		return err_errno(e, ENOMEM, "cannot open events");
	for (uint32_t i = 0; i < l->options.n_events; i++)
		found[i] = source_n_places(&l->source, i) != 0;
	int r = live_open_place(l, &l->options, t->tid, (uint32_t)t->tid, 0, found, e);
	if (r < 0) {
		livestack_drop_new(l, n_old);
		return r;
	}
	if (t->is_unproven)
		live_mark_unproven(l, n_old);
	l->has_repeats = true;
	l->n_threads++;
	VEC_PUSH(&b->opened, (uint32_t)t->tid);
	enable(l, n_old);
	return 0;
}

static void after_opening(struct live *l)
{
	l->usage.n_fds = (uint32_t)(l->fds.n + l->n_rings);
	livevary_renew(l);
}

static bool is_needed(const struct live *l)
{
	const struct live_options *o = &l->options;
	return o->scope == LIVE_TASK && o->attr.inherit && !o->attr.enable_on_exec;
}

static void report(struct live *l, int r, const struct err *e)
{
	/* What the kernel lets no user record is reported as such (why-empty.c). */
	bool is_denied = r == -EACCES || r == -EPERM;
	/* Too many at a time: each of them has inherited events, or will have a FORK record. */
	if (r >= 0 || r == -EAGAIN || l->births.is_refused)
		return;
	log_line(l->options.open.log, is_denied ? LOG_EXPLAIN : LOG_WARN, "a thread or process "
		 "that was created while events were opened may not be sampled: %s", e->what);
	l->births.is_refused = !is_denied;
}

/* Those that have appeared between the last scan and now. */
static void open_appeared(struct live *l)
{
	struct err e;
	struct livescan scan = {
		.options = &l->options, .open = open_thread, .ctx = l, .since_ns = l->opened_ns,
		.is_late = true,
	};
	int r = 0;
	for (size_t i = 0; r == 0 && i < l->fds.n; i++)
		if (l->fds.v[i].tid && !livescan_add(&scan, (pid_t)l->fds.v[i].tid))
			r = err_errno(&e, ENOMEM, "cannot list threads");
	if (r == 0)
		r = livescan_processes(&scan, l->options.pid, l->options.n_pids, &e);
	livescan_done(&scan);
	report(l, r, &e);
	after_opening(l);
}

void livebirth_begin(struct live *l)
{
	livebirth_renew(l);
	if (is_needed(l))
		open_appeared(l);
}

void livebirth_renew(struct live *l)
{
	l->births.since_ns = is_needed(l) ? clock_monotonic_ns() : 0;
	l->births.next.n = l->births.opened.n = 0;
}

void livebirth_done(struct live *l)
{
	VEC_FREE(&l->births.next);
	VEC_FREE(&l->births.opened);
}

/* ---- records ------------------------------------------------------------------------- */

void livebirth_note(struct live *l, struct live_id *id, const struct record *r)
{
	struct livebirth *b = &l->births;
	bool is_process = r->pid != r->fork.ppid;
	/* Copies of an event, in threads created later, have its id. */
	if (!b->since_ns || !id || id->has_created || id->tid != r->fork.ptid)
		return;
	id->has_created = true;
	if (r->time_ns <= b->since_ns + (is_process ? PROCESS_NS : THREAD_NS))
		/* If memory is short, one may not be sampled. */
		VEC_PUSH(&b->next, ((struct livebirth_child){ r->pid, r->tid }));
}

bool livebirth_is_waiting(const struct live *l)
{
	return l->births.next.n != 0;
}

static void open_next(struct live *l, uint64_t now_ns)
{
	struct livebirth *b = &l->births;
	size_t n = 0;
	while (n < b->next.n && clock_monotonic_ns() - now_ns < OPEN_NS_MAX) {
		const struct livebirth_child c = b->next.v[n++];
		struct err e;
		struct livescan scan = {
			.options = &l->options, .open = open_thread, .ctx = l,
			.since_ns = l->opened_ns, .is_late = true,
		};
		int r = livescan_child(&scan, (pid_t)c.pid, (pid_t)c.tid, &e);
		livescan_done(&scan);
		report(l, r, &e);
	}
	if (!n)
		return;
	for (size_t i = n; i < b->next.n; i++)
		b->next.v[i - n] = b->next.v[i];
	b->next.n -= n;
	after_opening(l);
}

static bool inherits(const struct live *l, uint32_t tid)
{
	for (size_t i = 0; i < l->n_rings; i++) {
		const struct live_late *late = live_find_late(l, &l->ring[i], tid);
		if (late && late->inherits)
			return true;
	}
	return false;
}

/* Closes the events of threads that have inherited others.  Samples that wait in the rings do not
 * count on any CPU from now on. */
static void close_doubles(struct live *l)
{
	struct livebirth *b = &l->births;
	size_t n_kept = 0, n_opened = 0;
	for (size_t k = 0; k < b->opened.n; k++) {
		uint32_t tid = b->opened.v[k];
		if (!inherits(l, tid)) {
			b->opened.v[n_opened++] = tid;
			continue;
		}
		for (size_t i = 0; i < l->n_rings; i++)
			live_find_late(l, &l->ring[i], tid)->inherits = true;
		for (size_t i = 0; i < l->fds.n; i++)
			if (l->fds.v[i].tid == tid && !l->fds.v[i].ends)
				livestack_close(l, &l->fds.v[i]);
	}
	if (n_opened == b->opened.n)
		return;
	b->opened.n = n_opened;
	for (size_t i = 0; i < l->fds.n; i++)
		if (l->fds.v[i].fd >= 0)
			l->fds.v[n_kept++] = l->fds.v[i];
	l->fds.n = n_kept;
	after_opening(l);
}

int livebirth_step(struct live *l, uint64_t now_ns)
{
	struct livebirth *b = &l->births;
	if (!b->since_ns)
		return -1;
	if (!is_needed(l) || now_ns > b->since_ns + PROCESS_NS + CLOCK_SECOND_NS) {
		b->since_ns = b->next.n = b->opened.n = 0;
		return -1;
	}
	if (livegrow_is_busy(l, SOURCE_ALL_RINGS))
		return STEP_MS_MIN;
	open_next(l, now_ns);
	close_doubles(l);
	int ms = (int)((now_ns - b->since_ns) / STEP_PART / 1000000);
	return b->next.n || ms < STEP_MS_MIN ? STEP_MS_MIN : ms;
}
