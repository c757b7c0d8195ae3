/*
 * Attempts and their log; the ladder itself is in evladder.c.  The last errno is the one to report,
 * as no rung could mend it.
 */
#include "event/evopen.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "base/memhelper.h"
#include "base/remotemem.h"
#include "base/rights.h"
#include "event/evattr.h"
#include "event/evadvice.h"
#include "event/evexplain.h"
#include "event/evfield.h"
#include "event/evladder.h"
#include "event/evspec.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EINTR_TRIES 100        /* perf_event_open waits for locks, and a signal may arrive at any
			        * time */
#define PROBE_PERIOD_CYCLES 50000
#define PROBE_SPIN_NS 5000000  /* hundreds of such periods on any CPU */
#define MAX_RATE_DEFAULT_HZ 100000

/* The kernel's form of an attr; see evattr.h. */
struct long_attr { struct perf_event_attr attr; uint64_t config3[1]; };

static struct long_attr lengthen(const struct perf_event_attr *attr)
{
	struct long_attr to = { .attr = *attr };
	const size_t at = offsetof(struct perf_event_attr, sig_data) + sizeof(attr->sig_data);
	if (attr->size == EVATTR_SIZE_CONFIG3) {
		to.attr.sig_data = 0;
		memcpy((char *)&to + at, &attr->sig_data, sizeof(attr->sig_data));
	}
	return to;
}

int evopen_syscall(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		   unsigned long flags)
{
	struct long_attr to = lengthen(attr);
	CLEANUP_RIGHTS bool raised = rights_raise();
	int fd = (int)syscall(SYS_perf_event_open, &to, pid, cpu, group_fd, flags);
	/* The kernel answers to a size that it does not know with its own. */
	attr->size = to.attr.size;
	return fd;
}

static bool needs_helper(evopen_fn *fn, const struct host *h, const struct evopen_place *at)
{
	return fn == evopen_syscall && h && at->pid > 0 && !(at->flags & PERF_FLAG_PID_CGROUP) &&
	       !remotemem_is_direct(h->memory, (uint32_t)at->pid);
}

int evopen_call(evopen_fn *fn, const struct host *h, struct perf_event_attr *attr,
		const struct evopen_place *at)
{
	if (!needs_helper(fn, h, at))
		return fn(attr, at->pid, at->cpu, at->group_fd, at->flags);
	struct long_attr to = lengthen(attr);
	int fd = remotemem_open_event(h->memory, &(struct memhelper_event){
		.attr = &to, .n_attr_bytes = sizeof(to), .tid = (uint32_t)at->pid, .cpu = at->cpu,
		.group_fd = at->group_fd, .flags = at->flags,
	});
	attr->size = to.attr.size;
	errno = fd < 0 ? -fd : errno;
	return fd < 0 ? -1 : fd;
}

/* A descriptor or -errno; with -E2BIG, the kernel knows *ret_known_bytes of the attr. */
static int attempt(const struct evopen *o, const struct perf_event_attr *attr,
		   const struct evopen_place *place, uint32_t *ret_known_bytes)
{
	struct evopen_place at = *place;
	at.flags |= PERF_FLAG_FD_CLOEXEC;
	for (int i = 0; i < EINTR_TRIES; i++) {
		/* On E2BIG the kernel writes into the attr. */
		struct perf_event_attr a = *attr;
		int fd = evopen_call(o->fn, o->host, &a, &at);
		int errnum = errno;
		*ret_known_bytes = a.size;
		if (fd >= 0)
			return fd;
		if (errnum != EINTR)
			return -errnum;
	}
	return -EINTR;
}

static void log_attempt(const struct evopen *o, const struct evspec *s,
			const struct perf_event_attr *attr, const struct evopen_place *at,
			int result)
{
	char text[512];
	if (!o->log || o->log->max < LOG_EXPLAIN)
		return;
	evattr_text(attr, text, sizeof(text));
	log_line(o->log, LOG_EXPLAIN, "event '%s' pid %d cpu %d: %s: %s",
		 s ? s->name : "side band", (int)at->pid, at->cpu, text,
		 result < 0 ? strerror(-result) : "opened");
}

/* Reports a failed attempt, with the field of the attr that the kernel refused. */
static int explain(const struct evopen *o, const struct evspec *s,
		   const struct perf_event_attr *attr, const struct evopen_place *at, int errnum,
		   uint32_t known_bytes, struct err *e)
{
	struct evfield field = { NULL, 0, NULL };
	struct evcause_request r = { s, attr, at->pid, at->cpu, at->flags, &field, o->counts };
	if (!e)
		return -errnum;
	if (errnum == EINVAL)
		evfield_find(o, attr, at, &field);
	else if (errnum == E2BIG)
		evfield_beyond(attr, known_bytes, &field);
	return evexplain_set(o->host, &r, errnum, e);
}

int evopen_first(const struct evopen *o, const struct evspec *s, struct perf_event_attr *attr,
		 const struct evopen_place *at, unsigned *ret_given_up, struct err *e)
{
	struct perf_event_attr a = *attr;
	struct evladder ladder = { 0 };
	uint32_t known_bytes;
	for (;;) {
		int fd = attempt(o, &a, at, &known_bytes);
		log_attempt(o, s, &a, at, fd);
		if (fd >= 0) {
			*attr = a;
			*ret_given_up = ladder.given_up;
			return fd;
		}
		if (!evladder_step(&ladder, o, s, at, &a, -fd))
			return explain(o, s, &a, at, -fd, known_bytes, e);
	}
}

int evopen_again(const struct evopen *o, const struct evspec *s, const struct perf_event_attr *attr,
		 const struct evopen_place *at, struct err *e)
{
	uint32_t known_bytes;
	int fd = attempt(o, attr, at, &known_bytes);
	return fd >= 0 ? fd : explain(o, s, attr, at, -fd, known_bytes, e);
}

int evopen_explain_group(const struct evspec *s, int errnum, struct err *e)
{
	err_set(e, errnum, "event '%s' does not fit into its group: %s", s->name, strerror(errnum));
	err_hint(e, "all events of a group count at the same time, so each must find a counter"
		    "; make it smaller, or let it break up if necessary: {...}:W");
	return -errnum;
}

int evopen_explain(const struct evopen *o, const struct evspec *s,
		   const struct perf_event_attr *attr, pid_t pid, int cpu, int errnum,
		   struct err *e)
{
	struct evcause_request r = { s, attr, pid, cpu, 0, NULL, o->counts };
	return evexplain_set(o->host, &r, errnum, e);
}

/* ---- what this machine and this user can do ------------------------------------- */

const char *evopen_why_not_cpus(const struct evopen *o)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000000,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int cpu = sched_getcpu();  /* certainly online */
	if (cpu < 0)
		cpu = 0;
	const struct evopen_place all_of_cpu = { -1, cpu, -1, 0 };
	uint32_t known_bytes;
	int fd = attempt(o, &a, &all_of_cpu, &known_bytes);
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	struct evcause_request r = { NULL, &a, -1, cpu, 0, NULL };
	return evadvice_brief(evcause_find(o->host, &r, -fd));
}

bool evopen_may_sample_cpus(const struct evopen *o)
{
	return !evopen_why_not_cpus(o);
}

bool evopen_pmu_interrupts(const struct evopen *o, const char **ret_why)
{
	struct perf_event_attr a = {
		.size = sizeof(a),
		.type = PERF_TYPE_HARDWARE,
		.config = PERF_COUNT_HW_CPU_CYCLES,
		.sample_period = PROBE_PERIOD_CYCLES,
		.sample_type = PERF_SAMPLE_IP,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const struct evopen_place self = { 0, -1, -1, 0 };
	uint32_t known_bytes;
	CLEANUP_CLOSE int fd = attempt(o, &a, &self, &known_bytes);
	if (fd < 0) {
		struct evcause_request r = { NULL, &a, 0, -1, 0, NULL };
		*ret_why = evadvice_brief(evcause_find(o->host, &r, -fd));
		return false;
	}
	size_t n_page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	struct perf_event_mmap_page *ring = mmap(NULL, 2 * n_page_bytes, PROT_READ | PROT_WRITE,
						 MAP_SHARED, fd, 0);
	if (ring == MAP_FAILED) {
		*ret_why = errno == EPERM ? "no locked memory left for a ring"
					  : "cannot map a ring";
		return false;
	}
	bool came = false;
	uint64_t end_ns = clock_monotonic_ns() + PROBE_SPIN_NS;
	while (!came && clock_monotonic_ns() < end_ns)
		came = __atomic_load_n(&ring->data_head, __ATOMIC_ACQUIRE) != 0;
	munmap(ring, 2 * n_page_bytes);
	if (!came)
		*ret_why = "the PMU opens 'cycles' but never interrupts";
	return came;
}

unsigned long evopen_max_rate_hz(const struct host *h)
{
	long hz = evcause_max_rate_hz(h);
	return hz > 0 ? (unsigned long)hz : MAX_RATE_DEFAULT_HZ;
}
