/*
 * Replaces events of threads, which are inherited: the kernel has copies of them in threads that
 * were created since, and closing an event closes its copies.  So new events are opened on all
 * threads that live now, as at the start:
 *
 * 1. The new events are opened, disabled, on each thread of each process, and again for what was
 *    created meanwhile, until a scan finds nothing new.  A thread that a repeated scan finds may
 *    have inherited its new events already, and has two sets then (is_double in live.c).
 * 2. They are enabled, and with them their copies.
 * 3. Samples of the old events count up to this moment, those of the new ones from then on.
 * 4. The old events are closed, with their copies.
 *
 * Both sets carry the side band for a moment; duplicates do no harm.
 */

#include "source/live/livescan.h"
#include "source/live/livestack.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "event/evspec.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* Each thread takes some 50 us, during which the rings are not read. */
#define THREADS_MAX 200u

struct livetask {
	struct live *l;
	const struct livestack *to;
	struct live_ring *ring;
	uint32_t *stack_bytes;         /* per event: of its copies there; 0: it is not affected */
	uint32_t sideband;             /* the event that carries the side band; RECORD_NO_EVENT */
	size_t n_threads;              /* opened */
	struct livescan scan;
	struct live_lates late;
};

static int open_event(struct livetask *k, pid_t tid, uint32_t event, struct err *e)
{
	const struct live_options *o = &k->l->options;
	const struct evopen_place at = { tid, k->ring->cpu, -1, 0 };
	struct live_fd f = {
		.event = event, .tid = (uint32_t)tid, .cpu = k->ring->cpu,
		.stack_bytes = k->to->stack_bytes ? k->to->stack_bytes : k->stack_bytes[event],
		.sideband = event == k->sideband,
	};
	struct perf_event_attr attr = k->l->event[event].attr;
	attr.sample_stack_user = k->stack_bytes[event];
	livestack_change_attr(&attr, k->to);
	attr.enable_on_exec = 0;
	if (f.sideband)
		live_add_sideband(k->l, &attr, &at);
	f.fd = evopen_again(&o->open, &o->event[event], &attr, &at, e);
	return f.fd < 0 ? f.fd : live_keep_fd(k->l, o, f, k->ring->fd, e);
}

static int open_thread(void *ctx, const struct livescan_thread *t, struct err *e)
{
	struct livetask *k = ctx;
	size_t n_old = k->l->fds.n;
	if (k->n_threads++ >= THREADS_MAX)
		return err_set(e, E2BIG, "more than %u threads", THREADS_MAX);
	if (t->is_late && !VEC_PUSH(&k->late, ((struct live_late){ .tid = (uint32_t)t->tid })))
		return err_errno(e, ENOMEM, "cannot open events");
	for (uint32_t i = 0; i < k->l->options.n_events; i++) {
		int r = k->stack_bytes[i] ? open_event(k, t->tid, i, e) : 0;
		if (r < 0)
			return r;
	}
	if (t->is_unproven)
		live_mark_unproven(k->l, n_old);
	return 0;
}

/* Without inheritance: the threads that had events. */
static int open_same(struct livetask *k, size_t n_old, struct err *e)
{
	for (size_t i = 0; i < n_old; i++) {
		const struct live_fd f = k->l->fds.v[i];
		if (!livestack_is_affected(k->l, k->to, &f) ||
		    livescan_has(&k->scan, (pid_t)f.tid))
			continue;
		if (!livescan_add(&k->scan, (pid_t)f.tid))
			return err_errno(e, ENOMEM, "cannot open events");
		int r = open_thread(k, &(struct livescan_thread){ .tid = (pid_t)f.tid }, e);
		if (r < 0 && r != -ESRCH)
			return r;
	}
	return 0;
}

/* Steps 2 to 4. */
static void use_new(struct livetask *k, size_t n_old)
{
	struct live *l = k->l;
	l->has_repeats = true;
	for (size_t i = n_old; i < l->fds.n; i++)
		if (!l->event[l->fds.v[i].event].paused)
			ioctl(l->fds.v[i].fd, PERF_EVENT_IOC_ENABLE, 0);
	uint64_t now_ns = clock_monotonic_ns();
	size_t n_kept = 0, n = l->fds.n;
	for (size_t i = 0; i < n; i++) {
		struct live_fd f = l->fds.v[i];
		struct live_id *id = live_find_id(l, f.id);
		if (i >= n_old && id)
			id->since_ns = now_ns;
		if (i < n_old && livestack_is_affected(l, k->to, &f)) {
			if (id)
				id->until_ns = now_ns;
			livestack_close(l, &f);
			continue;
		}
		l->fds.v[n_kept++] = f;
	}
	l->fds.n = n_kept;
	VEC_FREE(&k->ring->late);
	live_sort_late(k->late.v, k->late.n);
	k->ring->late = k->late;
	k->ring->has_late = true;
	k->late = (struct live_lates){ 0 };
	livebirth_renew(l);
}

int livetask_reopen(struct live *l, const struct livestack *to, size_t ring, struct err *e)
{
	const struct livestack here = { ring, to->stack_bytes, to->user_chain };
	CLEANUP_FREE uint32_t *stack_bytes = calloc(l->options.n_events, sizeof(*stack_bytes));
	struct livetask k = { .l = l, .to = &here, .ring = &l->ring[ring],
			      .stack_bytes = stack_bytes, .sideband = RECORD_NO_EVENT,
			      .scan = { .options = &l->options, .open = open_thread, .ctx = &k,
					.since_ns = l->opened_ns } };
	size_t n_old = l->fds.n;
	if (!stack_bytes)
		return err_errno(e, ENOMEM, "cannot open events");
	for (size_t i = 0; i < n_old; i++) {
		const struct live_fd *f = &l->fds.v[i];
		if (!livestack_is_affected(l, &here, f))
			continue;
		stack_bytes[f->event] = f->stack_bytes;
		if (f->sideband)
			k.sideband = f->event;
	}
	int r = l->options.attr.inherit ? livescan_run(&k.scan, e) : open_same(&k, n_old, e);
	if (r == 0 && l->fds.n == n_old)
		r = err_set(e, ESRCH, "no thread of the target was found");
	if (r < 0)
		livestack_drop_new(l, n_old);
	else
		use_new(&k, n_old);
	livescan_done(&k.scan);
	VEC_FREE(&k.late);
	return r;
}
