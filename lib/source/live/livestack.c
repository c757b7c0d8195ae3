/*
 * Changes the size of the stack copies that go into a ring, or adds a chain of frame pointers to
 * them: the events with copies are reopened, one after the other.
 *
 * The old event stops before the new one starts, so that the new one can use its counter.  If both
 * were on the PMU for a moment, the new one would get another counter (arm64 has one for cycles
 * alone), or none if all are in use: a pinned event then never counts again.  While both are open,
 * one is stopped or not yet started, and needs no counter.
 *
 * Debug registers are allocated when a breakpoint is opened, and some drivers reserve their
 * resources then, too: ENOSPC, EBUSY.  In that case the old event is closed first.
 *
 * An event that carries the side band of its CPU must not leave a gap: a dummy event replaces it in
 * between.  Duplicate records do no harm.
 */

#include "source/live/livestack.h"

#include "base/err.h"
#include "base/log.h"
#include "event/evspec.h"
#include "source/source-ring.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

static int ring_fd_of_cpu(const struct live *l, int cpu)
{
	for (size_t i = 0; i < l->n_rings; i++)
		if (l->ring[i].cpu == cpu)
			return l->ring[i].fd;
	return -1;
}

/* Events with stack copies, except, for another size, those whose size the user has fixed. */
static bool is_affected_event(const struct live *l, const struct livestack *to, uint32_t event)
{
	return event != RECORD_NO_EVENT && l->event[event].attr.sample_stack_user &&
	       (!to->stack_bytes || !l->options.event[event].stack_bytes);
}

bool livestack_is_affected(const struct live *l, const struct livestack *to,
			   const struct live_fd *f)
{
	return (to->ring == SOURCE_ALL_RINGS || l->ring[to->ring].cpu == f->cpu) &&
	       is_affected_event(l, to, f->event);
}

void livestack_change_attr(struct perf_event_attr *attr, const struct livestack *to)
{
	if (to->stack_bytes)
		attr->sample_stack_user = to->stack_bytes;
	if (to->user_chain)
		attr->exclude_callchain_user = 0;
}

static struct evopen_place place_of(const struct live *l, int cpu)
{
	const struct live_options *o = &l->options;
	bool cgroup = o->scope == LIVE_CGROUP;
	return (struct evopen_place){ cgroup ? o->cgroup_fd : -1, cpu, -1,
				      cgroup ? PERF_FLAG_PID_CGROUP : 0 };
}

void livestack_keep_id(struct live *l, const struct live_fd *f)
{
	for (size_t i = 0; i < l->n_rings; i++)
		if (l->ring[i].cpu == f->cpu)
			VEC_PUSH(&l->ring[i].closed, f->id);
}

void livestack_forget(struct live *l, size_t ring)
{
	for (size_t i = 0; i < l->n_rings; i++) {
		if (ring != SOURCE_ALL_RINGS && ring != i)
			continue;
		struct live_ring *r = &l->ring[i];
		for (size_t k = 0; k < r->closed.n; k++)
			live_remove_id(l, r->closed.v[k]);
		r->closed.n = 0;
	}
}

void livestack_drop_new(struct live *l, size_t n_old)
{
	for (size_t i = n_old; i < l->fds.n; i++) {
		live_remove_id(l, l->fds.v[i].id);
		close(l->fds.v[i].fd);
	}
	l->fds.n = n_old;
}

void livestack_close(struct live *l, struct live_fd *f)
{
	ioctl(f->fd, PERF_EVENT_IOC_DISABLE, 0);
	if (f->event != RECORD_NO_EVENT)
		live_add_count(l, f, &l->event[f->event].closed);
	livestack_keep_id(l, f);
	close(f->fd);
	f->fd = -1;
}

static void close_substitute(int fd)
{
	if (fd >= 0)
		close(fd);
}

/* Opens an enabled event for the side band of a CPU; -1: not possible. */
static int open_substitute(const struct live *l, int cpu)
{
	const struct evopen_place at = place_of(l, cpu);
	struct evattr_options o = l->options.attr;
	struct perf_event_attr attr;
	o.enable_on_exec = false;
	evattr_sideband(&o, &attr);
	attr.ksymbol &= !l->no_ksymbol;
	int fd = evopen_again(&l->options.open, NULL, &attr, &at, NULL);
	if (fd >= 0 && ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd_of_cpu(l, cpu)) == 0)
		return fd;
	close_substitute(fd);
	return -1;
}

static int open_changed(struct live *l, const struct live_fd *old, const struct livestack *to,
			struct err *e)
{
	const struct live_options *o = &l->options;
	const struct evopen_place at = place_of(l, old->cpu);
	struct perf_event_attr attr = l->event[old->event].attr;
	attr.sample_stack_user = old->stack_bytes;
	livestack_change_attr(&attr, to);
	if (old->sideband)
		live_add_sideband(l, &attr, &at);
	return evopen_again(&o->open, &o->event[old->event], &attr, &at, e);
}

/*
 * Opens the successor of event i at the end of l->fds.  If both cannot be open at the same time,
 * the old one is closed (fd -1).  If even then the change fails, the successor is like the old one.
 */
static int open_next(struct live *l, size_t i, const struct livestack *to, struct err *e)
{
	const struct livestack as_it_is = { .ring = to->ring };
	struct live_fd *old = &l->fds.v[i], f = *old;
	int ring_fd = ring_fd_of_cpu(l, f.cpu), failed = 0;
	f.fd = open_changed(l, old, to, e);
	if (to->stack_bytes)
		f.stack_bytes = to->stack_bytes;
	if (f.fd == -ENOSPC || f.fd == -EBUSY) {
		int substitute = old->sideband ? open_substitute(l, f.cpu) : -1;
		livestack_close(l, old);
		f.fd = open_changed(l, old, to, e);
		failed = f.fd < 0 ? f.fd : 0;
		if (f.fd < 0) {
			f.fd = open_changed(l, old, &as_it_is, e);
			f.stack_bytes = old->stack_bytes;
		}
		if (f.fd < 0)
			log_line(l->options.open.log, LOG_WARN, "event '%s' on CPU %d is lost: "
				 "another program took its place", l->options.event[f.event].name,
				 f.cpu);
		if (f.fd >= 0 && !l->event[f.event].paused)
			ioctl(f.fd, PERF_EVENT_IOC_ENABLE, 0);
		close_substitute(substitute);
	}
	if (f.fd < 0)
		return f.fd;
	int r = live_keep_fd(l, &l->options, f, ring_fd, e);
	return r < 0 ? r : failed;
}

static void take_over(struct live *l, size_t i, const struct live_fd *next)
{
	struct live_fd *old = &l->fds.v[i];
	if (old->fd >= 0) {
		int substitute = old->sideband ? open_substitute(l, old->cpu) : -1;
		livestack_close(l, old);
		if (!l->event[next->event].paused)
			ioctl(next->fd, PERF_EVENT_IOC_ENABLE, 0);
		close_substitute(substitute);
	}
	*old = *next;
}

/* Opens the successors of all events that the change affects; they follow the old events, in the
 * same order. */
static int open_successors(struct live *l, const struct livestack *to, struct err *e)
{
	for (size_t i = 0, n = l->fds.n; i < n; i++) {
		int r = livestack_is_affected(l, to, &l->fds.v[i]) ? open_next(l, i, to, e) : 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* Puts the successors in place of the first n events; after a failure only of those that had to be
 * closed. */
static void use_successors(struct live *l, const struct livestack *to, size_t n, bool failed)
{
	size_t next = n;
	for (size_t i = 0; i < n && next < l->fds.n; i++) {
		if (!livestack_is_affected(l, to, &l->fds.v[i]))
			continue;
		const struct live_fd f = l->fds.v[next++];
		if (!failed || l->fds.v[i].fd < 0)
			take_over(l, i, &f);
		else {
			live_remove_id(l, f.id);
			close(f.fd);
		}
	}
	l->fds.n = 0;
	for (size_t i = 0; i < n; i++)
		if (l->fds.v[i].fd >= 0)
			l->fds.v[l->fds.n++] = l->fds.v[i];
}

/* Replaces events of CPUs. */
static int reopen_cpus(struct live *l, const struct livestack *to, struct err *e)
{
	size_t n = l->fds.n;
	int r = open_successors(l, to, e);
	use_successors(l, to, n, r < 0);
	return r;
}

static int reopen_threads(struct live *l, const struct livestack *to, struct err *e)
{
	int r = 0;
	for (size_t i = 0; i < l->n_rings && r == 0; i++)
		if (to->ring == SOURCE_ALL_RINGS || to->ring == i)
			r = livetask_reopen(l, to, i, e);
	return r;
}

static int reopen(struct live *l, const struct livestack *to, struct err *e)
{
	const struct live_options *o = &l->options;
	bool is_task = o->scope == LIVE_TASK, any = false;
	bool possible = !is_task || !o->attr.inherit || o->processes;
	for (uint32_t i = 0; i < o->n_events; i++) {
		possible &= !o->event[i].group;  /* its members would lose their leader */
		/* Both sets count for a moment. */
		possible &= !is_task || !l->event[i].attr.pinned;
		any |= is_affected_event(l, to, i);
	}
	if (!possible || !any)
		return err_set(e, EOPNOTSUPP, "stack copies are fixed");
	if (l->scope.is_changing)
		return err_set(e, EAGAIN, "the scope is changing");
	if (livegrow_is_busy(l, to->ring))
		return err_set(e, EAGAIN, "the ring is being replaced");
	livestack_forget(l, to->ring);
	livevary_renew(l);
	int r = is_task ? reopen_threads(l, to, e) : reopen_cpus(l, to, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < o->n_events; i++)
		if (is_affected_event(l, to, i))
			livestack_change_attr(&l->event[i].attr, to);
	for (size_t i = 0; to->stack_bytes && i < l->n_rings; i++)
		if (to->ring == SOURCE_ALL_RINGS || to->ring == i)
			l->ring[i].stack_bytes = to->stack_bytes;
	return 0;
}

int live_set_stack(struct source *s, size_t ring, uint32_t stack_bytes, struct err *e)
{
	const struct livestack to = { .ring = ring, .stack_bytes = stack_bytes };
	return reopen((struct live *)s, &to, e);
}

int live_set_user_chain(struct source *s, struct err *e)
{
	const struct livestack to = { .ring = SOURCE_ALL_RINGS, .user_chain = true };
	return reopen((struct live *)s, &to, e);
}
