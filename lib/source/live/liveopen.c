/*
 * Decides which events are opened where.
 *
 * LIVE_CPU and LIVE_CGROUP: one perf event per event and online CPU.  LIVE_TASK: one per event,
 * thread and CPU, because an inherited event can be mapped only if it is bound to a CPU.
 *
 * The side-band records (mmap, comm, fork, exit) of CPUs have an event of their own, because the
 * kernel counts lost records by event, and so those of the others are samples.  With threads and
 * cgroups each event costs time whenever a task is switched; there the first event of each place
 * carries the side band.
 */

#include "source/live/live-private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "event/evspec.h"
#include "source/live/ringsize.h"
#include "source/synth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES_ENOUGH (512u << 10)

/* In perf_event_open(2). */
#define ANY_CPU (-1)

/* Scans of /proc/PID/task until nothing new appears; bounded because a target may create threads
 * faster than we open events. */
#define SCANS_MAX 50

/* ---- rings --------------------------------------------------------------------- */

/*
 * Events of one thread that are not inherited may follow it from CPU to CPU, and need only one
 * ring.  That ring's owner must be an event of the same thread.
 */
static bool is_one_thread(const struct live_options *o)
{
	bool one = o->scope == LIVE_TASK && !o->attr.inherit && o->n_tids == 1 && o->n_pids == 0;
	for (size_t i = 0; i < o->n_events; i++)
		one &= !o->event[i].cpus;
	return one;
}

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
	if (cpu == ANY_CPU) {
		const struct evopen_place at = { o->tid[0], cpu, -1, PERF_FLAG_FD_CLOEXEC };
		int fd = evopen_call(o->open.fn, o->open.host, &attr, &at);
		return fd < 0 ? -errno : fd;
	}
	/* Own it by the main thread: poll(2) reports POLLHUP for ever once the owner's thread has
	 * ended, and the calling thread may end early. */
	int fd = o->open.fn(&attr, getpid(), cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0 && errno == ESRCH)
		fd = o->open.fn(&attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int live_open_ring(const struct live *l, const struct live_options *o, uint64_t n_bytes,
		   struct live_ring *ret, struct err *e)
{
	struct live_options own = *o;
	own.attr.wakeup_bytes =
		(uint32_t)ringsize_wakeup(n_bytes, o->attr.rate_default_hz);
	int fd = open_owner(&own, &l->event[0].attr, ret->cpu);
	if (fd < 0)
		return err_errno(e, -fd, "cannot open a ring of CPU %d", ret->cpu);
	int r = ring_open(&ret->ring, o->open.host, fd, n_bytes / (size_t)sysconf(_SC_PAGESIZE), e);
	if (r < 0) {
		close(fd);
		return r;
	}
	ret->fd = fd;
	return 0;
}

/* *ret_over_limit: it failed because of the locked-memory limit. */
static int open_rings_of(struct live *l, struct live_options *o, const int *cpus, size_t n_cpus,
			 uint64_t ring_bytes, bool *ret_over_limit, struct err *e)
{
	*ret_over_limit = false;
	size_t n_pages = ring_bytes / (size_t)sysconf(_SC_PAGESIZE);
	o->attr.wakeup_bytes =
		(uint32_t)ringsize_wakeup(ring_bytes, o->attr.rate_default_hz);
	int last = -ENODEV;
	for (size_t i = 0; i < n_cpus; i++) {
		int fd = open_owner(o, &l->event[0].attr, cpus[i]);
		if (fd == -EMFILE || fd == -ENFILE)
			return evopen_explain(&o->open, &o->event[0], &l->event[0].attr, 0,
					      cpus[i], -fd, e);
		if (fd < 0) {
			last = fd;
			continue;
		}
		struct live_ring *ring = &l->ring[l->n_rings];
		int r = ring_open(&ring->ring, o->open.host, fd, n_pages, e);
		if (r < 0) {
			close(fd);
			*ret_over_limit = r == -EPERM;
			return r;
		}
		ring->fd = fd;
		ring->cpu = cpus[i];
		l->n_rings++;
	}
	l->usage.n_cpus_failed = (uint32_t)(n_cpus - l->n_rings);
	if (l->n_rings == 0)
		return evopen_explain(&o->open, &o->event[0], &l->event[0].attr, 0, cpus[0],
				      -last, e);
	l->usage.ring_bytes = ring_bytes;
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

/*
 * Uses the user's size, or the largest that the locked-memory limit allows.  All recorders of a
 * user share that limit, and a program that records itself may start several.  So a recorder that
 * gets less than it wants leaves half of the rest to others, if the remainder is enough for it.
 */
static int open_rings(struct live *l, struct live_options *o, const int *cpus, size_t n_cpus,
		      struct err *e)
{
	l->ring = calloc(n_cpus + LIVEGROW_RINGS, sizeof(*l->ring));
	if (!l->ring)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	bool over_limit;
	if (o->ring_bytes)
		return open_rings_of(l, o, cpus, n_cpus, o->ring_bytes, &over_limit, e);
	const struct ringsize want = {
		.has_copies = o->attr.stack_bytes, .is_seldom_read = o->read_seldom,
		.rate_hz = o->attr.rate_default_hz, .n_rings = n_cpus,
		.budget_bytes = o->rings_bytes,
	};
	uint64_t bytes = ringsize_choose(&want);
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	bool is_limited = false;
	for (;; bytes /= 2) {
		int r = open_rings_of(l, o, cpus, n_cpus, bytes, &over_limit, e);
		if (r == 0 && is_limited && o->read_seldom && bytes > RING_BYTES_ENOUGH) {
			is_limited = false;
			close_rings(l);
			continue;
		}
		if (!over_limit || bytes / 2 < page_bytes)
			return r;
		is_limited = true;
		log_line(o->open.log, LOG_EXPLAIN,
			 "rings of %llu KiB per CPU exceed the locked-memory limit, trying half",
			 (unsigned long long)bytes / 1024);
		close_rings(l);
	}
}

/* ---- events -------------------------------------------------------------------- */

void live_add_sideband(const struct live *l, struct perf_event_attr *attr,
		       const struct evopen_place *at)
{
	/* Events of no task also get the kernel's own code. */
	attr->ksymbol = at->pid < 0 && !l->no_ksymbol;
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
	attr->task = 1;
}

/* The counters of a group, which each sample contains, must be compared with those of the previous
 * sample of any task. */
static void filter_event(struct live *l, const struct live_fd *f)
{
	if (l->filter.filter_fd < 0 || f->event == RECORD_NO_EVENT)
		return;
	struct live_event *ev = &l->event[f->event];
	if (ev->attr.read_format & PERF_FORMAT_GROUP || livefilter_attach(&l->filter, f->fd) < 0)
		ev->unfiltered = true;
	else
		ev->filtered = true;
}

int live_keep_fd(struct live *l, const struct live_options *o, struct live_fd f, int ring_fd,
		 struct err *e)
{
	if (ioctl(f.fd, PERF_EVENT_IOC_SET_OUTPUT, ring_fd) < 0 ||
	    ioctl(f.fd, PERF_EVENT_IOC_ID, &f.id) < 0) {
		int r = err_errno(e, errno, "cannot direct an event to its ring");
		close(f.fd);
		return r;
	}
	struct live_id id = {
		.id = f.id, .event = f.event, .tid = f.tid,
		.is_clock = f.event != RECORD_NO_EVENT && o->event[f.event].is_clock,
	};
	/* The period may have changed since the first events were opened. */
	const struct perf_event_attr *a = f.event != RECORD_NO_EVENT ? &l->event[f.event].attr
								      : NULL;
	if (a && !a->freq && !(a->sample_type & PERF_SAMPLE_PERIOD))
		id.period = a->sample_period;
	if (!VEC_PUSH(&l->fds, f) || live_add_id(l, id) < 0) {
		if (l->fds.n && l->fds.v[l->fds.n - 1].fd == f.fd)
			l->fds.n--;
		close(f.fd);
		return err_errno(e, ENOMEM, "cannot open events");
	}
	filter_event(l, &f);
	live_copy_attach(l, &f);
	return 0;
}

/* Is it an event of a group, but not the first? */
static bool is_member(const struct live_options *o, uint32_t i)
{
	return i && o->event[i].group && o->event[i].group == o->event[i - 1].group;
}

static bool has_variants(const struct live_options *o, uint32_t i)
{
	for (uint32_t k = 0; k < o->n_events; k++)
		if (k != i && o->event[k].output == o->event[i].output)
			return true;
	return false;
}

static void set_attr(struct live *l, const struct live_options *o, uint32_t i)
{
	evattr_sampling(&o->event[i], &o->attr, &l->event[i].attr);
	if (is_member(o, i) && !l->event[i].broken)
		evattr_member(&l->event[i].attr, o->event[i].group_sample);
}

/* Events are opened for a place: a thread, all tasks, or a cgroup. */
struct place {
	pid_t pid;
	uint32_t tid;              /* 0: no thread */
	unsigned long flags;
	bool *found;               /* per event: the attr is known to open */
	int *leader;               /* per ring: the current group's first event; -1: none */
	bool *has_sideband;        /* per ring */
	size_t n_opened;
};

static void note_found(struct live *l, const struct live_options *o, uint32_t i,
		       const struct perf_event_attr *attr, unsigned given_up)
{
	char text[512];
	l->event[i].attr = *attr;
	l->event[i].given_up = given_up;
	evattr_text(&l->event[i].attr, text, sizeof(text));
	log_line(o->open.log, LOG_EXPLAIN, "event '%s'%s%s: %s", o->event[i].name,
		 o->event[i].pmu[0] ? " of " : "", o->event[i].pmu, text);
	if (is_member(o, i) && !l->event[i].broken && attr->freq && !o->event[i].is_clock)
		log_line(o->open.log, LOG_WARN, "event '%s': the kernel adapts the rate of a "
			 "group's first event only, so this one may have few samples; give it a "
			 "period, as in '%s/period=100003/'", o->event[i].name, o->event[i].name);
}

/* Opens event i on a ring's CPU, with the side band if it has none yet. */
static int open_one(struct live *l, const struct live_options *o, uint32_t i, struct place *p,
		    size_t ring, int group_fd, struct err *e)
{
	const struct evopen_place at = { p->pid, l->ring[ring].cpu, group_fd, p->flags };
	struct perf_event_attr attr = l->event[i].attr;
	bool sideband = !p->has_sideband[ring];
	unsigned given_up = 0;
	if (attr.sample_stack_user && l->ring[ring].stack_bytes && !o->event[i].stack_bytes)
		attr.sample_stack_user = l->ring[ring].stack_bytes;
	if (sideband)
		live_add_sideband(l, &attr, &at);
	bool asked_ksymbol = attr.ksymbol;
	int fd = p->found[i] ? evopen_again(&o->open, &o->event[i], &attr, &at, e)
			     : evopen_first(&o->open, &o->event[i], &attr, &at, &given_up, e);
	if (fd < 0)
		return fd;
	const struct live_fd f = {
		.fd = fd, .event = i, .tid = p->tid, .cpu = l->ring[ring].cpu,
		.stack_bytes = attr.sample_stack_user, .sideband = sideband,
	};
	int r = live_keep_fd(l, o, f, l->ring[ring].fd, e);
	if (r < 0)
		return r;
	if (!p->found[i]) {
		l->no_ksymbol |= asked_ksymbol && !attr.ksymbol;
		if (sideband)
			attr.mmap = attr.mmap2 = attr.comm = attr.comm_exec = attr.task =
				attr.ksymbol = 0;
		note_found(l, o, i, &attr, given_up);
	}
	p->found[i] = true;
	p->has_sideband[ring] = true;
	p->n_opened++;
	return fd;
}

/* Handles a member that its group does not accept: opens it alone if the user allowed that
 * (modifier W); otherwise reports the group as the reason. */
static int open_outside(struct live *l, const struct live_options *o, uint32_t i, struct place *p,
			size_t r, int refused, struct err *e)
{
	const struct evspec *s = &o->event[i];
	const struct evopen_place at = { p->pid, l->ring[r].cpu, -1, p->flags };
	if (s->weak) {
		l->event[i].broken = true;
		set_attr(l, o, i);
		log_line(o->open.log, LOG_NOTE, "event '%s': it does not fit into its group, and "
			 "is sampled outside of it", s->name);
		return open_one(l, o, i, p, r, -1, e);
	}
	int fd = evopen_again(&o->open, s, &l->event[i].attr, &at, NULL);
	if (fd < 0)
		return refused;
	close(fd);
	return evopen_explain_group(s, -refused, e);
}

/* If a leader with S was refused because it is inherited, sets e. */
static void explain_inherited(const struct live *l, const struct live_options *o, uint32_t i,
			      const struct place *p, size_t r, struct err *e)
{
	const struct evopen_place at = { p->pid, l->ring[r].cpu, -1, p->flags };
	struct perf_event_attr alone = l->event[i].attr;
	if (!alone.inherit)
		return;
	alone.inherit = 0;
	int fd = evopen_again(&o->open, &o->event[i], &alone, &at, NULL);
	if (fd < 0)
		return;
	close(fd);
	err_set(e, EINVAL, "event '%s': sampling a group with S in threads and children created "
		"later requires Linux 6.13", o->event[i].name);
	err_hint(e, "use --scope cpu (CAP_PERFMON or root), or leave them out: --no-inherit");
}

/* Errors that may concern only one of several PMUs. */
static bool is_not_there(int r)
{
	return r == -ENOENT || r == -EOPNOTSUPP || r == -EINVAL || r == -ENODEV;
}

/* Opens event i on all rings.  *ret_failed: why it is missing on some, if that is not fatal. */
static int open_event(struct live *l, const struct live_options *o, uint32_t i, struct place *p,
		      int *ret_failed, struct err *e)
{
	const struct evspec *s = &o->event[i];
	bool member = is_member(o, i);
	for (size_t r = 0; r < l->n_rings; r++) {
		bool first = !member || l->event[i].broken;
		int group_fd = first ? -1 : p->leader[r];
		if (!member)
			p->leader[r] = -1;
		if (!cpus_contain(s->cpus, l->ring[r].cpu) || (!first && group_fd < 0))
			continue;
		int fd = open_one(l, o, i, p, r, group_fd, e);
		if (fd == -EINVAL && group_fd >= 0 && !p->found[i])
			fd = open_outside(l, o, i, p, r, fd, e);
		if (fd == -EINVAL && s->group_sample && !member)
			explain_inherited(l, o, i, p, r, e);
		if (fd == -ENODEV) {
			*ret_failed = fd;
			log_line(o->open.log, LOG_EXPLAIN, "event '%s': not on CPU %d: %s",
				 s->name, l->ring[r].cpu, strerror(ENODEV));
			continue;
		}
		if (fd < 0 && !p->found[i] && s->pmu[0] && is_not_there(fd) && has_variants(o, i)) {
			*ret_failed = fd;
			log_line(o->open.log, LOG_NOTE, "event '%s': not on PMU '%s': %s", s->name,
				 s->pmu, strerror(-fd));
			return 0;
		}
		if (fd < 0)
			return fd;
		if (!member)
			p->leader[r] = fd;
	}
	return 0;
}

static int open_sideband_event(struct live *l, const struct live_options *o,
			       struct perf_event_attr *attr, const struct evopen_place *at,
			       struct err *e)
{
	attr->ksymbol &= !l->no_ksymbol;
	if (attr->ksymbol) {
		int fd = evopen_again(&o->open, &o->event[0], attr, at, NULL);
		if (fd != -EINVAL)
			return fd >= 0 ? fd : evopen_again(&o->open, &o->event[0], attr, at, e);
		l->no_ksymbol = true;  /* before Linux 5.1 */
		attr->ksymbol = 0;
	}
	return evopen_again(&o->open, &o->event[0], attr, at, e);
}

/* Opens separate side-band events. */
static int open_sideband(struct live *l, const struct live_options *o, struct place *p,
			 struct err *e)
{
	struct perf_event_attr attr;
	evattr_sideband(&o->attr, &attr);
	for (size_t i = 0; i < l->n_rings; i++) {
		const struct evopen_place at = { p->pid, l->ring[i].cpu, -1, p->flags };
		int fd = open_sideband_event(l, o, &attr, &at, e);
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return fd;
		const struct live_fd f = {
			.fd = fd, .event = RECORD_NO_EVENT, .tid = p->tid, .cpu = l->ring[i].cpu,
		};
		int r = live_keep_fd(l, o, f, l->ring[i].fd, e);
		if (r < 0)
			return r;
		p->has_sideband[i] = true;
	}
	return 0;
}

/* Was at least one variant of the event found? */
static bool is_found(const struct live_options *o, const bool *found, uint32_t output)
{
	for (uint32_t i = 0; i < o->n_events; i++)
		if (o->event[i].output == output && found[i])
			return true;
	return false;
}

/* Ignores CPUs that went offline or that the event's PMU does not cover. */
int live_open_place(struct live *l, const struct live_options *o, pid_t pid, uint32_t tid,
		    unsigned long flags, bool *found, struct err *e)
{
	CLEANUP_FREE int *leader = calloc(l->n_rings, sizeof(*leader));
	CLEANUP_FREE bool *has_sideband = calloc(l->n_rings, sizeof(*has_sideband));
	struct place p = { pid, tid, flags, found, leader, has_sideband, 0 };
	int failed = 0;
	if (!leader || !has_sideband)
		return err_errno(e, ENOMEM, "cannot open events");
	/* Pauses do not end it. */
	bool is_separate = o->pausable || o->scope == LIVE_CPU;
	int r = is_separate ? open_sideband(l, o, &p, e) : 0;
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < o->n_events; i++) {
		r = open_event(l, o, i, &p, &failed, e);
		if (r < 0)
			return r;
	}
	for (uint32_t i = 0; i < o->n_events; i++) {
		if (is_found(o, found, o->event[i].output))
			continue;
		if (failed)
			return failed;  /* e describes the last CPU or PMU tried */
		return err_set(e, ENODEV, "event '%s': none of its CPUs (%s) is online",
			       o->event[i].name, o->event[i].cpus ? o->event[i].cpus : "");
	}
	return 0;
}

/* ---- threads --------------------------------------------------------------------- */

static bool is_known(const struct live *l, uint32_t tid)
{
	/* Threads are opened in sequence: the last ones are the most likely. */
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
	int r = live_open_place(l, o, tid, (uint32_t)tid, 0, found, e);
	if (r < 0)
		return r;
	l->n_threads++;
	if (late && o->attr.inherit &&
	    !VEC_PUSH(&l->late, ((struct live_late){ .tid = (uint32_t)tid })))
		return err_errno(e, ENOMEM, "cannot open events");
	return 0;
}

/*
 * Opens all threads of a process, and repeats for those created meanwhile, until a scan finds
 * nothing new.  A thread found by a repeated scan may have inherited events already: see is_double
 * in live.c.
 */
static int open_process(struct live *l, const struct live_options *o, pid_t pid, bool *found,
			struct err *e)
{
	CLEANUP_VEC VEC(pid_t) seen = { 0 };
	bool any = false;
	int why = ESRCH;
	for (int scan = 0; scan < SCANS_MAX; scan++) {
		CLEANUP_FREE pid_t *tids = NULL;
		int n = synth_list(o->open.host, pid, &tids);
		if (n <= 0)
			break;
		size_t n_new = 0, n_seen = seen.n;
		for (int i = 0; i < n; i++) {
			if (n_seen &&
			    bsearch(&tids[i], seen.v, n_seen, sizeof(pid_t), compare_pids))
				continue;
			n_new++;
			if (!VEC_PUSH(&seen, tids[i]))
				return err_errno(e, ENOMEM, "cannot list threads");
			int r = open_thread(l, o, tids[i], scan > 0, found, e);
			why = r == -ETIMEDOUT ? ETIMEDOUT : why;
			if (r == -ESRCH || r == -ETIMEDOUT)
				continue;  /* it ended meanwhile, or does not answer */
			if (r < 0)
				return r;
			any = true;
		}
		qsort(seen.v, seen.n, sizeof(pid_t), compare_pids);
		if (n_new == 0)
			break;
	}
	return any ? 0 : evopen_explain(&o->open, &o->event[0], &l->event[0].attr, pid, -1, why,
					e);
}

/* ---- all together ------------------------------------------------------------------ */

static int open_events(struct live *l, const struct live_options *o, struct err *e)
{
	CLEANUP_FREE bool *found = calloc(o->n_events, sizeof(*found));
	if (!found)
		return err_errno(e, ENOMEM, "cannot open events");
	if (o->scope == LIVE_CPU)
		return live_open_place(l, o, -1, 0, 0, found, e);
	if (o->scope == LIVE_CGROUP)
		return live_open_place(l, o, o->cgroup_fd, 0, PERF_FLAG_PID_CGROUP, found, e);
	size_t n_silent = 0;
	for (size_t i = 0; i < o->n_pids; i++) {
		int r = open_process(l, o, o->pid[i], found, e);
		/* One that does not answer is counted (base/remotemem.h), and must not keep others
		 * from being recorded. */
		n_silent += r == -ETIMEDOUT;
		if (r < 0 && (r != -ETIMEDOUT || n_silent == o->n_pids + o->n_tids))
			return r;
	}
	for (size_t i = 0; i < o->n_tids; i++) {
		if (is_known(l, (uint32_t)o->tid[i]))
			continue;
		int r = open_thread(l, o, o->tid[i], false, found, e);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Counts CPUs with a ring but no event: their PMU does not cover them, or they went offline. */
static void count_empty_rings(struct live *l, const struct live_options *o)
{
	for (size_t r = 0; r < l->n_rings; r++) {
		size_t i = 0;
		bool wanted = false;
		for (size_t k = 0; k < o->n_events; k++)
			wanted |= cpus_contain(o->event[k].cpus, l->ring[r].cpu);
		if (!wanted)
			continue;  /* not covered by any event's PMU */
		while (i < l->fds.n && (l->fds.v[i].cpu != l->ring[r].cpu ||
					l->fds.v[i].event == RECORD_NO_EVENT))
			i++;
		l->usage.n_cpus_failed += i == l->fds.n;
	}
}

static int start_merging(struct live *l, struct err *e)
{
	for (size_t i = 0; i < l->options.n_events; i++)
		evattr_format(&l->event[i].attr, &l->format[i]);
	if (livegrow_init(l, l->options.rings_grow && !l->options.ring_bytes) < 0)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	size_t n_rings = l->n_rings + l->grow.n_places;
	CLEANUP_FREE struct ring **rings = calloc(n_rings, sizeof(struct ring *));
	if (!rings)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	for (size_t i = 0; i < n_rings; i++)
		rings[i] = &l->ring[i].ring;
	if (round_init(&l->round, l->format, rings, n_rings) < 0 ||
	    merge_init(&l->first.merge, &l->round) < 0)
		return err_errno(e, ENOMEM, "cannot set up the rings");
	l->round.by_ring = !l->options.by_time;
	l->round.is_live = true;
	return 0;
}

/* Keeps the CPUs that are on the list. */
static int choose_cpus(const char *list, int *cpus, int n)
{
	int kept = 0;
	for (int i = 0; i < n; i++)
		if (cpus_contain(list, cpus[i]))
			cpus[kept++] = cpus[i];
	return kept;
}

/* Everything but what live_open has set; what is open on failure is closed with the source. */
static int open_all(struct live *l, struct live_options *o, int *cpus, size_t n_cpus, struct err *e)
{
	if (is_one_thread(o)) {
		cpus[0] = ANY_CPU;
		n_cpus = 1;
	}
	l->event = calloc(o->n_events, sizeof(*l->event));
	l->format = calloc(o->n_events, sizeof(*l->format));
	if (!l->event || !l->format)
		return err_errno(e, ENOMEM, "cannot set up recording");
	for (uint32_t i = 0; i < o->n_events; i++)
		set_attr(l, o, i);
	int r = open_rings(l, o, cpus, n_cpus, e);
	if (r < 0)
		return r;
	l->why_unfiltered = "not requested";
	if (o->filter && livefilter_open(&l->filter, o->filter, o->open.host, &l->why_unfiltered))
		l->why_unfiltered = NULL;
	if (o->filter && o->filter_required && l->why_unfiltered)
		return err_set(e, EOPNOTSUPP, "no filter in the kernel: %s", l->why_unfiltered);
	r = open_events(l, o, e);
	if (r < 0)
		return r;
	live_sort_late(l->late.v, l->late.n);
	l->has_repeats = l->late.n;
	r = start_merging(l, e);
	if (r < 0)
		return r;
	count_empty_rings(l, o);
	l->usage.n_fds = (uint32_t)(l->fds.n + l->n_rings);
	l->options = *o;
	l->options.filter = NULL;
	live_watch_clocks(l);
	return 0;
}

int live_open(const struct live_options *options, struct source **ret_source, struct err *e)
{
	struct live_options o = *options;
	CLEANUP_FREE int *cpus = NULL;
	int n_online = cpus_online(o.open.host, &cpus, e);
	if (n_online < 0)
		return n_online;
	int n_cpus = choose_cpus(o.cpus, cpus, n_online);
	if (n_cpus == 0)
		return err_set(e, ENODEV, "none of the CPUs %s is online", o.cpus);
	struct live *l = calloc(1, sizeof(*l));
	if (!l)
		return err_errno(e, ENOMEM, "cannot set up recording");
	l->source.ops = &live_ops;
	l->filter = (struct livefilter)LIVEFILTER_NONE;
	l->copy = (struct samplecopy)SAMPLECOPY_NONE;
	l->copy_fd = -1;
	l->options = o;
	l->opened_ns = clock_now_ns(CLOCK_BOOTTIME);
	source_read_facts(&l->source.facts, (uint32_t)n_online);
	l->source.facts.pause_is_slow = o.scope == LIVE_CPU;
	int r = open_all(l, &o, cpus, (size_t)n_cpus, e);
	if (r < 0) {
		source_close(&l->source);
		return r;
	}
	*ret_source = &l->source;
	return 0;
}
