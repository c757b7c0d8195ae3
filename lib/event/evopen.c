/*
 * The ladder goes down one rung per refusal, and which rung depends on the errno:
 *
 *	EINVAL, E2BIG      bits that this kernel does not know, then precise_ip
 *	EOPNOTSUPP         precise_ip (the answer of x86 to more than it can)
 *	EACCES, EPERM      the kernel's side
 *
 * Rungs are never climbed back, so there are at most 1 + 1 + 3 + 1 attempts.  The last errno is
 * the one to report: an unprivileged `cycles` on a machine without a PMU is first
 * refused for its kernel side, and only then for what cannot be helped.
 */
#include "event/evopen.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "event/evattr.h"
#include "event/evcause.h"
#include "event/evexplain.h"
#include "event/evspec.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define EINTR_TRIES 100        /* perf_event_open waits for locks, and a signal may come any time */
#define PROBE_PERIOD_CYCLES 50000
#define PROBE_SPIN_NS 5000000  /* hundreds of such periods on any CPU */
#define MAX_RATE_DEFAULT_HZ 100000

int evopen_syscall(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		   unsigned long flags)
{
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group_fd, flags);
}

/* A descriptor or -errno. */
static int attempt(const struct evopen *o, const struct perf_event_attr *attr, pid_t pid, int cpu,
		   unsigned long flags)
{
	for (int i = 0; i < EINTR_TRIES; i++) {
		/* On E2BIG the kernel writes into the attr. */
		struct perf_event_attr a = *attr;
		int fd = o->fn(&a, pid, cpu, -1, flags | PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno != EINTR)
			return -errno;
	}
	return -EINTR;
}

static void log_attempt(const struct evopen *o, const struct evspec *s,
			const struct perf_event_attr *attr, pid_t pid, int cpu, int result)
{
	char text[512];
	if (!o->log || o->log->max < LOG_EXPLAIN)
		return;
	evattr_text(attr, text, sizeof(text));
	log_line(o->log, LOG_EXPLAIN, "event '%s' pid %d cpu %d: %s: %s",
		 s ? s->name : "side band", (int)pid, cpu, text,
		 result < 0 ? strerror(-result) : "opened");
}

/* Steps down one rung; false when there is none that could help against errnum. */
static bool step_down(const struct evopen *o, const struct evspec *s, struct perf_event_attr *a,
		      int errnum, unsigned *given_up)
{
	switch (errnum) {
	case EINVAL:
	case E2BIG:
		if (evattr_drop_new_bits(a)) {
			*given_up |= EVOPEN_NO_NEW_BITS;
			return true;
		}
		break;
	case EOPNOTSUPP:
		break;
	case EACCES:
	case EPERM:
		if (!o->allow_user_only || a->exclude_kernel || a->exclude_user ||
		    (s && evspec_in_kernel(s)))
			return false;
		a->exclude_kernel = a->exclude_hv = 1;
		*given_up |= EVOPEN_NO_KERNEL;
		return true;
	default:
		return false;
	}
	if (!a->precise_ip)
		return false;
	a->precise_ip--;
	*given_up |= EVOPEN_NO_PRECISE;
	return true;
}

int evopen_first(const struct evopen *o, const struct evspec *s, struct perf_event_attr *attr,
		 pid_t pid, int cpu, unsigned long flags, unsigned *ret_given_up, struct err *e)
{
	struct perf_event_attr a = *attr;
	unsigned given_up = 0;
	for (;;) {
		int fd = attempt(o, &a, pid, cpu, flags);
		log_attempt(o, s, &a, pid, cpu, fd);
		if (fd >= 0) {
			*attr = a;
			*ret_given_up = given_up;
			return fd;
		}
		if (!step_down(o, s, &a, -fd, &given_up)) {
			struct evcause_request r = { s, &a, pid, cpu, flags };
			return evexplain_set(o->host, &r, -fd, e);
		}
	}
}

int evopen_again(const struct evopen *o, const struct evspec *s, const struct perf_event_attr *attr,
		 pid_t pid, int cpu, unsigned long flags, struct err *e)
{
	int fd = attempt(o, attr, pid, cpu, flags);
	if (fd >= 0)
		return fd;
	struct evcause_request r = { s, attr, pid, cpu, flags };
	return evexplain_set(o->host, &r, -fd, e);
}

int evopen_explain(const struct evopen *o, const struct evspec *s,
		   const struct perf_event_attr *attr, pid_t pid, int cpu, int errnum,
		   struct err *e)
{
	struct evcause_request r = { s, attr, pid, cpu, 0 };
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
	int cpu = sched_getcpu();  /* surely online */
	if (cpu < 0)
		cpu = 0;
	int fd = attempt(o, &a, -1, cpu, 0);
	if (fd >= 0) {
		close(fd);
		return NULL;
	}
	struct evcause_request r = { NULL, &a, -1, cpu, 0 };
	return evcause_short(evcause_find(o->host, &r, -fd));
}

bool evopen_may_sample_cpus(const struct evopen *o)
{
	return !evopen_why_not_cpus(o);
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
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
	CLEANUP_CLOSE int fd = attempt(o, &a, 0, -1, 0);
	if (fd < 0) {
		struct evcause_request r = { NULL, &a, 0, -1, 0 };
		*ret_why = evcause_short(evcause_find(o->host, &r, -fd));
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
	for (uint64_t end = now_ns() + PROBE_SPIN_NS; !came && now_ns() < end;)
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
