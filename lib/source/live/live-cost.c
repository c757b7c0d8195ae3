/*
 * Measures the cost of a sample on cprof's own thread.  The thread samples itself some twenty times
 * while it only reads the clock, with the same attr, a stack of the same depth, and the ring of its
 * CPU.  A gap between readings is one interrupt; the median ignores other disturbances.  This takes
 * less than a millisecond.
 *
 * Context switches are sampled without an interrupt, in the kernel's code.  So are page faults of
 * the kernel, which happen on request: a system call writes to memory that has no page yet.  The
 * cost is the difference between such calls with and without samples.
 */

#include "source/live/live-private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "event/evspec.h"

#include <alloca.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define GAPS_MAX 15u
#define GAPS_MIN 5u
#define PERIOD_NS 20000u         /* a fifth of the rate of the fastest clock */
#define PERIOD_CYCLES 50000u     /* about as long */
#define MEASURE_NS_MAX 2000000u
#define DEPTH_MAX 127u

static int compare_ns(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The median of gaps longer than reading the clock takes; 0: too few. */
static uint64_t median_gap(int fd)
{
	uint64_t gap[GAPS_MAX], read_ns = UINT64_MAX;
	uint32_t n = 0;
	for (int i = 0; i < 64; i++) {
		uint64_t from = clock_monotonic_ns(), ns = clock_monotonic_ns() - from;
		read_ns = ns && ns < read_ns ? ns : read_ns;
	}
	if (read_ns > PERIOD_NS / 20 || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)
		return 0;
	uint64_t start = clock_monotonic_ns(), last = start;
	while (n < GAPS_MAX && last - start < MEASURE_NS_MAX) {
		uint64_t now = clock_monotonic_ns();
		if (now - last > read_ns * 8)
			gap[n++] = now - last - read_ns;
		last = now;
	}
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	if (n < GAPS_MIN)
		return 0;
	qsort(gap, n, sizeof(*gap), compare_ns);
	return gap[n / 2];
}

/* The median time of a system call that faults; 0: it failed. */
static uint64_t median_fault(int zero_fd, char *pages, size_t page_bytes)
{
	uint64_t ns[GAPS_MAX];
	for (size_t i = 0; i < GAPS_MAX; i++) {
		uint64_t from = clock_monotonic_ns();
		if (read(zero_fd, pages + i * page_bytes, 1) != 1)
			return 0;
		ns[i] = clock_monotonic_ns() - from;
	}
	qsort(ns, GAPS_MAX, sizeof(*ns), compare_ns);
	return ns[GAPS_MAX / 2];
}

static uint64_t fault_cost(int fd)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE), n_bytes = 2 * GAPS_MAX * page_bytes;
	CLEANUP_CLOSE int zero_fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	char *pages = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			   0);
	if (pages == MAP_FAILED)
		return 0;
	/* A huge page would be one fault. */
	madvise(pages, n_bytes, MADV_NOHUGEPAGE);
	uint64_t bare_ns = zero_fd >= 0 ? median_fault(zero_fd, pages, page_bytes) : 0;
	uint64_t ns = 0;
	if (bare_ns && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
		ns = median_fault(zero_fd, pages + GAPS_MAX * page_bytes, page_bytes);
		ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	}
	munmap(pages, n_bytes);
	return ns > bare_ns ? ns - bare_ns : 0;
}

/* Measures on a stack that is deeper by these numbers of frames and bytes.  Noinline, and with
 * frame pointers because of alloca, so that the kernel finds as many frames as in the target. */
static __attribute__((noinline)) uint64_t measure_deep(uint64_t (*measure)(int fd), int fd,
							unsigned depth, size_t frame_bytes)
{
	volatile char *room = alloca(frame_bytes + 16);
	memset((void *)room, 1, frame_bytes + 16);
	uint64_t ns = depth ? measure_deep(measure, fd, depth - 1, frame_bytes)
			    : measure(fd);
	return room[0] ? ns : 0;
}

static bool is_switch(const struct perf_event_attr *a)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_CONTEXT_SWITCHES;
}

/* Events of the PMU interrupt by the PMU; all others but switches are treated as timers. */
static void choose_event(struct perf_event_attr *a)
{
	bool faults = is_switch(a);
	bool pmu = a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE ||
		   a->type == PERF_TYPE_RAW;
	a->type = pmu ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE;
	a->config = pmu ? (uint64_t)PERF_COUNT_HW_CPU_CYCLES : (uint64_t)PERF_COUNT_SW_CPU_CLOCK;
	a->sample_period = pmu ? PERIOD_CYCLES : PERIOD_NS;
	if (faults) {
		a->config = PERF_COUNT_SW_PAGE_FAULTS;
		a->sample_period = 1;
	}
	a->context_switch = 0;
	a->freq = 0;
	a->config1 = a->config2 = 0;
	a->bp_type = 0;
	a->pinned = 0;
	a->size = sizeof(*a);
	a->sig_data = 0;
	a->inherit = a->enable_on_exec = a->precise_ip = 0;
	a->exclude_user = 0;
	a->mmap = a->mmap2 = a->comm = a->comm_exec = a->task = 0;
	a->disabled = 1;
}

uint64_t live_sample_cost(struct source *s, size_t event)
{
	struct live *l = (struct live *)s;
	struct perf_event_attr attr = l->event[event].attr;
	bool faults = is_switch(&attr);
	int cpu = sched_getcpu();
	size_t r = 0;
	while (r < l->n_rings && l->ring[r].cpu != cpu)
		r++;
	if (r == l->n_rings || !l->first.n_samples)
		return 0;
	choose_event(&attr);
	const struct evopen *o = &l->options.open;
	int fd = o->fn(&attr, 0, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return 0;
	uint64_t ns = 0, head = ring_fetch(&l->ring[r].ring);
	/* The kernel will find the same depth here as in the target. */
	uint64_t depth = l->first.n_chain_entries / l->first.n_samples;
	uint64_t bytes = l->first.n_stack_bytes / l->first.n_samples;
	if (depth > DEPTH_MAX)
		depth = DEPTH_MAX;
	if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, l->ring[r].fd) == 0)
		ns = measure_deep(faults ? fault_cost : median_gap, fd, (unsigned)depth,
				  bytes / (depth + 1));
	close(fd);
	return ring_fetch(&l->ring[r].ring) != head ? ns : 0;
}
