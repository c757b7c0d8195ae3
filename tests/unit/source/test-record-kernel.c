/*
 * The decoder against the running kernel: a software clock samples this process with every field
 * that it supports.  The decoder accepts a record, and rejects it without its last word: so it
 * agrees with the kernel on the layout up to the last word.
 */

#include "source/record.h"

#include "base/err.h"
#include "source/ring.h"
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int open_event(struct perf_event_attr *attr)
{
	attr->size = sizeof(*attr);
	attr->disabled = 1;
	attr->exclude_kernel = attr->exclude_hv = 1;
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
	return (int)syscall(SYS_perf_event_open, attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

static struct record_format format_of(const struct perf_event_attr *attr)
{
	return (struct record_format){
		.sample_type = attr->sample_type, .read_format = attr->read_format,
		.branch_sample_type = attr->branch_sample_type,
		.sample_regs_user = attr->sample_regs_user,
		.sample_regs_intr = attr->sample_regs_intr, .sample_id_all = true,
	};
}

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void __attribute__((noinline)) spin(unsigned ms)
{
	uint64_t end = now_ns() + ms * UINT64_C(1000000);
	while (now_ns() < end)
		;
}

/* Does this sample belong to this process, and end where the decoder expects it to? */
static bool sample_fits(const struct record_format *f, const void *raw, size_t n_bytes,
			const struct record *r, uint64_t start_ns)
{
	const struct record_sample *s = &r->sample;
	uint64_t t = f->sample_type, time_ns;
	bool ok = r->pid == (uint32_t)getpid() && r->tid == (uint32_t)gettid();
	ok &= r->has_time && r->time_ns >= start_ns && r->time_ns <= now_ns();
	ok &= record_peek_time(f, raw, n_bytes, &time_ns) && time_ns == r->time_ns;
	ok &= r->cpu < 65536;
	if (t & PERF_SAMPLE_CALLCHAIN)
		ok &= s->n_callchain >= 2 && s->callchain[0] == PERF_CONTEXT_USER;
	if (t & PERF_SAMPLE_PERIOD)
		ok &= s->period == 100000;
	if (t & PERF_SAMPLE_STACK_USER)
		ok &= s->user_stack_size == 1024 && s->n_user_stack_bytes > 0;
	if (t & PERF_SAMPLE_REGS_USER)
		ok &= s->user_abi == PERF_SAMPLE_REGS_ABI_64 && s->user_regs;
	if (t & PERF_SAMPLE_CODE_PAGE_SIZE)
		ok &= s->code_page_size >= 4096;

	void *shorter = malloc(n_bytes - 8);
	memcpy(shorter, raw, n_bytes - 8);
	((struct perf_event_header *)shorter)->size = (uint16_t)(n_bytes - 8);
	struct record ignored;
	ok &= record_decode(f, shorter, n_bytes - 8, &ignored) == RECORD_BAD;
	free(shorter);
	return ok;
}

/* Samples itself with additional fields. */
static void test_samples(uint64_t sample_type, uint64_t read_format, const char *name)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 100000, .read_format = read_format,
		.sample_type = sample_type | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU,
	};
	if (sample_type & PERF_SAMPLE_REGS_USER)
		attr.sample_regs_user = 7;
	if (sample_type & PERF_SAMPLE_REGS_INTR)
		attr.sample_regs_intr = 3;
	if (sample_type & PERF_SAMPLE_STACK_USER)
		attr.sample_stack_user = 1024;
	int fd = open_event(&attr);
	if (fd < 0) {
		tap_skip(name, strerror(errno));
		return;
	}
	struct record_format format = format_of(&attr);
	struct ring ring;
	struct err e = { 0 };
	if (ring_open(&ring, NULL, fd, 64, &e) < 0) {
		tap_skip(name, e.what);
		close(fd);
		return;
	}
	uint64_t start_ns = now_ns();
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	spin(20);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	ring_fetch(&ring);
	int n_samples = 0, n_fit = 0;
	const void *raw;
	for (size_t n_bytes; (raw = ring_next(&ring, &n_bytes));) {
		struct record r;
		if (((const struct perf_event_header *)raw)->type != PERF_RECORD_SAMPLE)
			continue;
		n_samples++;
		n_fit += record_decode(&format, raw, n_bytes, &r) == RECORD_OK &&
			 sample_fits(&format, raw, n_bytes, &r, start_ns);
	}
	if (!n_samples)
		tap_skip(name, "no sample came");
	else if (!tap_ok(n_fit == n_samples, "%s", name))
		printf("# %d of %d samples fit\n", n_fit, n_samples);
	ring_close(&ring);
	close(fd);
}

/* Side-band records: names, mappings and tasks. */
static void test_sideband(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID |
			       PERF_SAMPLE_TIME | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU,
		.comm = 1, .mmap = 1, .mmap2 = 1, .task = 1,
	};
	int fd = open_event(&attr);
	struct ring ring;
	struct err e = { 0 };
	if (fd < 0 || ring_open(&ring, NULL, fd, 16, &e) < 0) {
		tap_skip("side-band records", fd < 0 ? strerror(errno) : e.what);
		return;
	}
	struct record_format format = format_of(&attr);
	uint64_t id = 0;
	ioctl(fd, PERF_EVENT_IOC_ID, &id);
	uint64_t start_ns = now_ns();
	ioctl(fd, PERF_EVENT_IOC_ENABLE, 0);
	pthread_setname_np(pthread_self(), "a-new-name");
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	void *map = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, self, 0);
	pid_t child = fork();
	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
	ioctl(fd, PERF_EVENT_IOC_DISABLE, 0);
	char exe[4096] = "";
	if (readlink("/proc/self/exe", exe, sizeof(exe) - 1) < 0)
		exe[0] = '\0';
	ring_fetch(&ring);
	bool comm = false, mmap2 = false, fork_seen = false;
	int n = 0, n_good = 0;
	const void *raw;
	for (size_t n_bytes; (raw = ring_next(&ring, &n_bytes)); n++) {
		struct record r;
		uint64_t time_ns = 0;
		if (record_decode(&format, raw, n_bytes, &r) != RECORD_OK)
			continue;
		n_good += r.has_time && r.time_ns >= start_ns && r.time_ns <= now_ns() &&
			  r.id == id && r.cpu < 65536 &&
			  record_peek_time(&format, raw, n_bytes, &time_ns) && time_ns == r.time_ns;
		comm |= r.type == PERF_RECORD_COMM && r.pid == (uint32_t)getpid() &&
			!strcmp(r.comm.comm, "a-new-name") && !r.comm.exec;
		mmap2 |= r.type == PERF_RECORD_MMAP2 && r.mmap.start == (uintptr_t)map &&
			 r.mmap.len == 4096 && r.mmap.prot == (PROT_READ | PROT_EXEC) &&
			 !strcmp(r.mmap.filename, exe);
		fork_seen |= r.type == PERF_RECORD_FORK && r.pid == (uint32_t)child &&
			     r.tid == (uint32_t)child && r.fork.ppid == (uint32_t)getpid();
	}
	tap_ok(n >= 3 && n_good == n, "%d side-band records, all of this event and time", n);
	tap_ok(comm, "COMM");
	tap_ok(mmap2, "MMAP2");
	tap_ok(fork_seen, "FORK");
	munmap(map, 4096);
	close(self);
	ring_close(&ring);
	close(fd);
}

int main(void)
{
	const uint64_t usual = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_STREAM_ID |
			       PERF_SAMPLE_PERIOD | PERF_SAMPLE_CALLCHAIN;
	const uint64_t dwarf = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	const uint64_t rest = PERF_SAMPLE_ADDR | PERF_SAMPLE_ID | PERF_SAMPLE_READ |
			      PERF_SAMPLE_RAW | PERF_SAMPLE_WEIGHT | PERF_SAMPLE_DATA_SRC |
			      PERF_SAMPLE_TRANSACTION | PERF_SAMPLE_REGS_INTR | PERF_SAMPLE_CGROUP;
	const uint64_t page_sizes = PERF_SAMPLE_DATA_PAGE_SIZE | PERF_SAMPLE_CODE_PAGE_SIZE;
	const uint64_t times = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	test_samples(0, 0, "samples with few fields");
	test_samples(usual, 0, "samples with the usual fields");
	test_samples(usual | dwarf, 0, "with registers and stack");
	test_samples(usual | dwarf | rest, 0, "with all fields that need no newer kernel");
	test_samples(usual | dwarf | rest, times | PERF_FORMAT_ID, "with times and id read");
	test_samples(usual | dwarf | rest, times | PERF_FORMAT_ID | PERF_FORMAT_GROUP,
		     "with a group read");
	test_samples(usual | rest, PERF_FORMAT_GROUP | PERF_FORMAT_ID | 1u << 4,
		     "with a group's losses read");
	test_samples(usual | dwarf | rest | page_sizes, 0, "with page sizes");
	test_samples(usual | PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_PHYS_ADDR | page_sizes, 0,
		     "with weight structure and physical address");
	test_sideband();
	return tap_done();
}
