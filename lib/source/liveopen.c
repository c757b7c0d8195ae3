/*
 * Which events are opened where.
 *
 * LIVE_CPU and LIVE_CGROUP: one event per event kind and online CPU.  LIVE_TASK:
 * one per event kind, thread and CPU, because an inherited event can only be
 * mapped when it is bound to a CPU.  The first event of each place also carries
 * the side-band records (mmap, comm, fork, exit), so that they cost no event of
 * their own.
 */

#include "source/live-private.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "event/evspec.h"
#include "source/cpus.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Enough for 70 ms of 25-frame stacks at 100 kHz, or 50 ms of 8 KiB stack copies at 10 kHz. */
#define RING_BYTES_MAX (2u << 20)
#define RING_BYTES_MAX_STACKS (4u << 20)
#define RING_BYTES_MIN (64u << 10)
#define RINGS_TOTAL_BYTES (64u << 20)

/* Scans of /proc/PID/task until nothing new appears; a bound for a target that
 * makes threads faster than we can open events. */
#define SCANS_MAX 50

/* ---- rings --------------------------------------------------------------------- */

static int open_owner(const struct live_options *o, const struct perf_event_attr *like, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.watermark = 1,
		.wakeup_watermark = o->attr.wakeup_bytes,
		/* must equal those of the events that are redirected to it */
		.use_clockid = like->use_clockid,
		.clockid = like->clockid,
	};
	int fd = o->open.fn(&attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* *ret_over_limit: it failed because so much memory may not be locked. */
static int open_rings_of(struct live *l, struct live_options *o, const int *cpus, size_t n_cpus,
			 uint64_t ring_bytes, bool *ret_over_limit, struct err *e)
{
	*ret_over_limit = false;
	size_t n_pages = ring_bytes / (size_t)sysconf(_SC_PAGESIZE);
	o->attr.wakeup_bytes = (uint32_t)(ring_bytes / 4);
	int last = -ENODEV;
	for (size_t i = 0; i < n_cpus; i++) {
		int fd = open_owner(o, &l->attr[0], cpus[i]);
		if (fd == -EMFILE || fd == -ENFILE)
			return evopen_explain(&o->open, &o->event[0], &l->attr[0], 0, cpus[i], -fd,
					      e);
		if (fd < 0) {
			last = fd;
			continue;
		}
		struct live_ring *r = &l->ring[l->n_rings];
		int code = ring_open(&r->ring, fd, n_pages, e);
		if (code < 0) {
			close(fd);
			*ret_over_limit = code == -EPERM;
			return code;
		}
		r->fd = fd;
		r->cpu = cpus[i];
		l->n_rings++;
	}
	l->facts.n_cpus_failed = (uint32_t)(n_cpus - l->n_rings);
	if (l->n_rings == 0)
		return evopen_explain(&o->open, &o->event[0], &l->attr[0], 0, cpus[0], -last, e);
	l->facts.ring_bytes = ring_bytes;
	return 0;
}

static void close_rings(struct live *l)
{
	for (size_t i = 0; i < l->n_rings; i++) {
		ring_close(&l->ring[i].ring);
		close(l->ring[i].fd);
	}
	l->n_rings = 0;
}

/* The user's size, or the largest that the locked-memory limit lets us have. */
static int open_rings(struct live *l, struct live_options *o, const int *cpus, size_t n_cpus,
		      struct err *e)
{
	l->ring = calloc(n_cpus, sizeof(*l->ring));
	if (!l->ring)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	bool over_limit;
	if (o->ring_bytes)
		return open_rings_of(l, o, cpus, n_cpus, o->ring_bytes, &over_limit, e);
	uint64_t bytes = o->attr.stack_bytes ? RING_BYTES_MAX_STACKS : RING_BYTES_MAX;
	while (bytes > 2 * RING_BYTES_MIN && bytes * n_cpus > RINGS_TOTAL_BYTES)
		bytes /= 2;
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	for (;; bytes /= 2) {
		int code = open_rings_of(l, o, cpus, n_cpus, bytes, &over_limit, e);
		if (!over_limit || bytes / 2 < page_bytes)
			return code;
		log_line(o->open.log, LOG_EXPLAIN,
			 "rings of %llu KiB per CPU exceed the locked-memory limit, trying half",
			 (unsigned long long)bytes / 1024);
		close_rings(l);
	}
}

/* ---- events -------------------------------------------------------------------- */

static void add_sideband(struct perf_event_attr *attr)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
}

static int keep_fd(struct live *l, int fd, uint32_t event, uint32_t tid, int cpu, int ring_fd,
		   struct err *e)
{
	uint64_t id = 0;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_ID, &id) < 0) {
		int code = err_errno(e, errno, "cannot direct an event to its ring");
		close(fd);
		return code;
	}
	if (!VEC_PUSH(&l->fds,
		      ((struct live_fd){ .fd = fd, .event = event, .tid = tid, .cpu = cpu })) ||
	    live_add_id(l, (struct live_id){ .id = id, .event = event, .tid = tid }) < 0) {
		if (l->fds.n && l->fds.v[l->fds.n - 1].fd == fd)
			l->fds.n--;
		close(fd);
		return err_errno(e, ENOMEM, "cannot open events");
	}
	return 0;
}

/*
 * Opens all events at one place: on every ring's CPU for pid (a thread, -1, or a
 * cgroup's descriptor).  Sets *ret_n_opened; -ESRCH when the thread is gone.  A CPU that went
 * offline is passed over.
 */
static int open_place(struct live *l, const struct live_options *o, pid_t pid, uint32_t tid,
		      unsigned long flags, bool *found, size_t *ret_n_opened, struct err *e)
{
	*ret_n_opened = 0;
	for (uint32_t i = 0; i < o->n_events; i++) {
		int failed = 0;
		for (size_t r = 0; r < l->n_rings; r++) {
			const struct live_ring *ring = &l->ring[r];
			const struct evopen_place at = { pid, ring->cpu, -1, flags };
			int fd;
			if (!found[i]) {
				unsigned given_up = 0;
				fd = evopen_first(&o->open, &o->event[i], &l->attr[i], &at,
						  &given_up, e);
				if (fd >= 0) {
					char text[512];
					found[i] = true;
					l->given_up[i] = given_up;
					evattr_text(&l->attr[i], text, sizeof(text));
					log_line(o->open.log, LOG_EXPLAIN, "event '%s': %s",
						 o->event[i].name, text);
				}
			} else {
				fd = evopen_again(&o->open, &o->event[i], &l->attr[i], &at, e);
			}
			if (fd == -ENODEV) {
				failed = fd;
				log_line(o->open.log, LOG_EXPLAIN, "event '%s': not on CPU %d: %s",
					 o->event[i].name, ring->cpu, strerror(ENODEV));
				continue;
			}
			if (fd < 0)
				return fd;
			int code = keep_fd(l, fd, i, tid, ring->cpu, ring->fd, e);
			if (code < 0)
				return code;
			++*ret_n_opened;
		}
		if (!found[i])
			return failed;  /* e tells of the last CPU tried */
	}
	return 0;
}

/* ---- threads --------------------------------------------------------------------- */

static bool is_known(const struct live *l, uint32_t tid)
{
	/* Threads are opened one after the other: the last are the likeliest. */
	for (size_t i = l->fds.n; i-- > 0;)
		if (l->fds.v[i].tid == tid)
			return true;
	return false;
}

static int compare_pids(const void *a, const void *b)
{
	return (*(const pid_t *)a > *(const pid_t *)b) - (*(const pid_t *)a < *(const pid_t *)b);
}

static int open_thread(struct live *l, const struct live_options *o, pid_t tid, bool late,
		       bool *found, struct err *e)
{
	size_t n_opened;
	int code = open_place(l, o, tid, (uint32_t)tid, 0, found, &n_opened, e);
	if (code < 0)
		return code;
	l->facts.n_threads++;
	if (late && o->attr.inherit &&
	    !VEC_PUSH(&l->late, ((struct live_late){ .tid = (uint32_t)tid })))
		return err_errno(e, ENOMEM, "cannot open events");
	return 0;
}

/*
 * All threads of a process, and again those that were born meanwhile, until a scan finds
 * nothing new.  A thread found by a repeated scan may have inherited events already: see
 * is_double in live.c.
 */
static int open_process(struct live *l, const struct live_options *o, pid_t pid, bool *found,
			struct err *e)
{
	VEC(pid_t) seen = { 0 };
	int code = 0;
	bool any = false;
	for (int scan = 0; scan < SCANS_MAX; scan++) {
		CLEANUP_FREE pid_t *tids = NULL;
		int n = synth_list(o->open.host, pid, &tids);
		if (n < 0 && !any)
			code = evopen_explain(&o->open, &o->event[0], &l->attr[0], pid, -1, ESRCH,
					      e);
		if (n <= 0)
			break;
		size_t n_new = 0, n_seen = seen.n;
		for (int i = 0; i < n; i++) {
			if (n_seen &&
			    bsearch(&tids[i], seen.v, n_seen, sizeof(pid_t), compare_pids))
				continue;
			n_new++;
			if (!VEC_PUSH(&seen, tids[i])) {
				code = err_errno(e, ENOMEM, "cannot list threads");
				goto out;
			}
			code = open_thread(l, o, tids[i], scan > 0, found, e);
			if (code == -ESRCH)
				code = 0;  /* it ended meanwhile */
			else if (code < 0)
				goto out;
			else
				any = true;
		}
		qsort(seen.v, seen.n, sizeof(pid_t), compare_pids);
		if (n_new == 0)
			break;
	}
	if (code == 0 && !any)
		code = evopen_explain(&o->open, &o->event[0], &l->attr[0], pid, -1, ESRCH, e);
out:
	VEC_FREE(&seen);
	return code;
}

/* ---- all together ------------------------------------------------------------------ */

static void raise_nofile(size_t n_wanted)
{
	struct rlimit lim;
	if (getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur >= n_wanted)
		return;
	lim.rlim_cur = lim.rlim_max < n_wanted ? lim.rlim_max : n_wanted;
	setrlimit(RLIMIT_NOFILE, &lim);
}

static size_t count_threads(const struct live_options *o)
{
	size_t n = o->n_tids;
	for (size_t i = 0; i < o->n_pids; i++) {
		CLEANUP_FREE pid_t *tids = NULL;
		int k = synth_list(o->open.host, o->pid[i], &tids);
		n += k > 0 ? (size_t)k : 0;
	}
	return n;
}

static int open_events(struct live *l, const struct live_options *o, struct err *e)
{
	CLEANUP_FREE bool *found = calloc(o->n_events, sizeof(*found));
	if (!found)
		return err_errno(e, ENOMEM, "cannot open events");
	size_t n_opened;
	if (o->scope == LIVE_CPU)
		return open_place(l, o, -1, 0, 0, found, &n_opened, e);
	if (o->scope == LIVE_CGROUP)
		return open_place(l, o, o->cgroup_fd, 0, PERF_FLAG_PID_CGROUP, found, &n_opened, e);
	for (size_t i = 0; i < o->n_pids; i++) {
		int code = open_process(l, o, o->pid[i], found, e);
		if (code < 0)
			return code;
	}
	for (size_t i = 0; i < o->n_tids; i++) {
		if (is_known(l, (uint32_t)o->tid[i]))
			continue;
		int code = open_thread(l, o, o->tid[i], false, found, e);
		if (code < 0)
			return code;
	}
	return 0;
}

/* A CPU that has a ring may yet have no event: a PMU of some CPUs only, one that went offline. */
static void count_empty_rings(struct live *l)
{
	for (size_t r = 0; r < l->n_rings; r++) {
		size_t i = 0;
		while (i < l->fds.n && l->fds.v[i].cpu != l->ring[r].cpu)
			i++;
		l->facts.n_cpus_failed += i == l->fds.n;
	}
}

static int start_merging(struct live *l, struct err *e)
{
	evattr_format(&l->attr[0], &l->format);
	CLEANUP_FREE struct ring **rings = calloc(l->n_rings, sizeof(struct ring *));
	if (!rings)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	for (size_t i = 0; i < l->n_rings; i++)
		rings[i] = &l->ring[i].ring;
	if (merge_init(&l->merge, &l->format, rings, l->n_rings) < 0)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	return 0;
}

static void read_facts(struct source_facts *f, size_t n_cpus)
{
	struct utsname u;
	if (uname(&u) == 0) {
		snprintf(f->kernel_release, sizeof(f->kernel_release), "%s", u.release);
		snprintf(f->arch, sizeof(f->arch), "%s", u.machine);
		snprintf(f->hostname, sizeof(f->hostname), "%s", u.nodename);
	}
	f->n_cpus = (uint32_t)n_cpus;
	f->running_kernel = true;
}

int live_open(const struct live_options *options, struct source **ret_source, struct err *e)
{
	struct live_options o = *options;
	CLEANUP_FREE int *cpus = NULL;
	int n_cpus = cpus_online(o.open.host, &cpus, e);
	if (n_cpus < 0)
		return n_cpus;
	struct live *l = calloc(1, sizeof(*l));
	if (!l)
		return err_errno(e, ENOMEM, "cannot set up recording");
	l->source.ops = &live_ops;
	read_facts(&l->source.facts, (size_t)n_cpus);
	l->attr = calloc(o.n_events, sizeof(*l->attr));
	l->closed = calloc(o.n_events, sizeof(*l->closed));
	l->given_up = calloc(o.n_events, sizeof(*l->given_up));
	int code = l->attr && l->closed && l->given_up
			   ? 0 : err_errno(e, ENOMEM, "cannot set up recording");
	for (size_t i = 0; code == 0 && i < o.n_events; i++)
		evattr_sampling(&o.event[i], &o.attr, &l->attr[i]);
	if (code == 0) {
		size_t n_places = o.scope == LIVE_TASK ? count_threads(&o) : 1;
		raise_nofile((size_t)n_cpus * (1 + o.n_events * n_places) + 512);
		add_sideband(&l->attr[0]);
		code = open_rings(l, &o, cpus, (size_t)n_cpus, e);
	}
	if (code == 0)
		code = open_events(l, &o, e);
	if (code == 0)
		code = start_merging(l, e);
	if (code == 0)
		count_empty_rings(l);
	if (code < 0) {
		source_close(&l->source);
		return code;
	}
	l->facts.n_fds = (uint32_t)(l->fds.n + l->n_rings);
	l->options = o;
	*ret_source = &l->source;
	return 0;
}

/* ---- again, with other stack copies ---------------------------------------------------- */

static int ring_fd_of_cpu(const struct live *l, int cpu)
{
	for (size_t i = 0; i < l->n_rings; i++)
		if (l->ring[i].cpu == cpu)
			return l->ring[i].fd;
	return -1;
}

int live_set_stack(struct source *s, uint32_t stack_bytes, struct err *e)
{
	struct live *l = (struct live *)s;
	const struct live_options *o = &l->options;
	if (o->scope == LIVE_TASK || !l->format.sample_regs_user)
		return err_set(e, EOPNOTSUPP, "the size of stack copies is fixed");
	bool cgroup = o->scope == LIVE_CGROUP;
	size_t n = l->fds.n;
	for (size_t i = 0; i < n; i++) {
		const struct live_fd old = l->fds.v[i];
		struct perf_event_attr attr = l->attr[old.event];
		attr.sample_stack_user = stack_bytes;
		const struct evopen_place at = { cgroup ? o->cgroup_fd : -1, old.cpu, -1,
						 cgroup ? PERF_FLAG_PID_CGROUP : 0 };
		int fd = evopen_again(&o->open, &o->event[old.event], &attr, &at, e);
		int code = fd < 0 ? fd : keep_fd(l, fd, old.event, 0, old.cpu,
						 ring_fd_of_cpu(l, old.cpu), e);
		if (code < 0) {
			while (l->fds.n > n)
				close(l->fds.v[--l->fds.n].fd);
			return code;
		}
	}
	/* The new ones stand behind the old, in the same order. */
	for (size_t i = 0; i < n; i++) {
		const struct live_fd old = l->fds.v[i];
		ioctl(l->fds.v[n + i].fd, PERF_EVENT_IOC_ENABLE, 0);
		ioctl(old.fd, PERF_EVENT_IOC_DISABLE, 0);
		live_add_count(l, old.fd, old.event, &l->closed[old.event]);
		close(old.fd);
		l->fds.v[i] = l->fds.v[n + i];
	}
	l->fds.n = n;
	for (size_t i = 0; i < o->n_events; i++)
		l->attr[i].sample_stack_user = stack_bytes;
	return 0;
}
