/*
 * An inherited event can write to a ring only if it is bound to a CPU.  So there is one event for
 * each thread and CPU, and a ring per CPU.
 *
 * What a change costs depends on the machine (an exception leaves a virtual machine, for example),
 * so it is measured: a breakpoint in this process is hit some times.
 */
#include "labels/gobreak.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/cpus.h"
#include "base/err.h"
#include "base/host.h"
#include "base/rights.h"
#include "event/evattr.h"
#include "source/record.h"
#include "source/synth.h"
#include "symbolize/arch/arch.h"
#include "symbolize/runtime/go-layout.h"

#include <errno.h>
#include <linux/hw_breakpoint.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define RING_BYTES 65536u
#define EVENTS_MAX 2048u
/* A ring with less room may have been full. */
#define FULL_BYTES 256u
#define SCANS_MAX 20u
#define TRIALS 32u

void gobreak_init(struct gobreak *b, evopen_fn *open, const struct host *host,
		  const struct arch *arch)
{
	*b = (struct gobreak){ .open = open, .host = host, .arch = arch };
}

void gobreak_done(struct gobreak *b)
{
	for (size_t i = 0; i < b->n_rings; i++) {
		ring_close(&b->ring[i].ring);
		close(b->ring[i].fd);
	}
	free(b->ring);
	*b = (struct gobreak){ .open = NULL };
}

static bool fail(struct gobreak *b, const char *what, int errnum)
{
	const char *why = errnum == ENOSPC ? "no debug register of the CPU is free" :
			  errnum == EINVAL ? "it needs Linux 5.13" :
			  errnum == EMFILE || errnum == ENFILE ? "too many files are open" :
			  strerror(errnum);
	snprintf(b->why, sizeof(b->why), "%s: %s", what, why);
	return false;
}

/* ---- attributes -------------------------------------------------------------------------- */

/* perf's number of a register. */
static unsigned int perf_reg(const struct arch *a, unsigned int reg)
{
	unsigned int i = 0;
	while (i + 1 < a->n_perf_regs && a->perf_reg[i] != (int8_t)reg)
		i++;
	return i;
}

static unsigned int g_reg(const struct arch *a)
{
	return perf_reg(a, a == &arch_arm64 ? GO_G_REG_ARM64 : GO_G_REG_X86_64);
}

/* Go passes the first argument in the register of results. */
static unsigned int labels_reg(const struct arch *a)
{
	return perf_reg(a, a->result);
}

static unsigned int sp_reg(const struct arch *a)
{
	return perf_reg(a, a->sp);
}

static struct perf_event_attr breakpoint(const struct arch *arch, uint64_t address,
					 unsigned int n_stack_bytes)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT, .size = sizeof(struct perf_event_attr),
		.bp_type = HW_BREAKPOINT_X, .bp_addr = address,
		.bp_len = arch == &arch_arm64 ? HW_BREAKPOINT_LEN_4 : sizeof(long),
		.sample_period = 1,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = UINT64_C(1) << g_reg(arch) | UINT64_C(1) << labels_reg(arch) |
				    UINT64_C(1) << sp_reg(arch),
		.sample_stack_user = n_stack_bytes,
		.exclude_kernel = 1, .exclude_hv = 1, .use_clockid = 1,
		.clockid = CLOCK_MONOTONIC, .watermark = 1, .wakeup_watermark = RING_BYTES / 2,
	};
}

/* ---- rings ------------------------------------------------------------------------------- */

static int open_ring(struct gobreak *b, int cpu, struct err *e)
{
	struct perf_event_attr a = breakpoint(b->arch, 0, 8);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	a.type = PERF_TYPE_SOFTWARE;
	a.config = PERF_COUNT_SW_DUMMY;
	a.bp_type = 0;
	a.bp_addr = a.bp_len = 0;
	a.disabled = 1;
	struct gobreak_ring *r = &b->ring[b->n_rings];
	r->cpu = cpu;
	r->fd = b->open(&a, getpid(), cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (r->fd < 0)
		return -errno;
	size_t n_pages = RING_BYTES < page ? 1 : RING_BYTES / page;
	int code = ring_open(&r->ring, b->host, r->fd, n_pages, e);
	if (code < 0) {
		close(r->fd);
		return code;
	}
	b->n_rings++;
	return 0;
}

static bool open_rings(struct gobreak *b)
{
	CLEANUP_FREE int *cpus = NULL;
	struct err e;
	int n = cpus_online(b->host, &cpus, &e);
	b->ring = n > 0 ? calloc((size_t)n, sizeof(*b->ring)) : NULL;
	for (int i = 0; b->ring && i < n; i++) {
		int code = open_ring(b, cpus[i], &e);
		if (code < 0)
			return fail(b, "a ring for changes of labels", -code);
	}
	return b->n_rings || fail(b, "rings for changes of labels", ENOMEM);
}

/* ---- the cost of a change ------------------------------------------------------------------ */

static void __attribute__((noinline)) be_changed(void)
{
	__asm__ volatile("" ::: "memory");
}

/* On the CPU where the thread is; false: it has left it meanwhile. */
static bool measure_on(struct gobreak *b, const struct gobreak_ring *r, bool *ret_works)
{
	struct perf_event_attr a = breakpoint(b->arch, (uintptr_t)&be_changed, 96);
	uint64_t n = 0;
	CLEANUP_CLOSE int fd = b->open(&a, 0, r->cpu, -1, PERF_FLAG_FD_CLOEXEC);
	*ret_works = fd >= 0;
	if (fd < 0) {
		fail(b, "a breakpoint", errno);
		return true;
	}
	ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, r->fd);
	uint64_t start_ns = clock_monotonic_ns();
	for (unsigned int i = 0; i < TRIALS; i++)
		be_changed();
	uint64_t ns = clock_monotonic_ns() - start_ns;
	*ret_works = read(fd, &n, sizeof(n)) == (ssize_t)sizeof(n) && n;
	if (!*ret_works)
		snprintf(b->why, sizeof(b->why), "breakpoints do not work on this machine");
	else if (n == TRIALS && (!b->cost_ns || ns / n < b->cost_ns))
		b->cost_ns = ns / n;
	return n == TRIALS;
}

/* Those of measurements are nobody's changes. */
static void drop_records(struct gobreak *b)
{
	for (size_t i = 0; i < b->n_rings; i++) {
		size_t n_bytes;
		ring_fetch(&b->ring[i].ring);
		while (ring_next(&b->ring[i].ring, &n_bytes))
			;
		ring_release(&b->ring[i].ring);
	}
}

/* The shortest of some attempts: others run, too. */
static bool measure(struct gobreak *b)
{
	bool works = false;
	for (unsigned int i = 0, n_done = 0; i < 8 && n_done < 3; i++) {
		int cpu = sched_getcpu();
		for (size_t k = 0; k < b->n_rings; k++)
			if (b->ring[k].cpu == cpu)
				n_done += measure_on(b, &b->ring[k], &works);
		drop_records(b);
	}
	return works && (b->cost_ns || fail(b, "a breakpoint's cost", EAGAIN));
}

/* ---- events ------------------------------------------------------------------------------ */

void gobreak_close(struct gobreak_events *e)
{
	for (size_t i = 0; i < e->fd.n; i++)
		close(e->fd.v[i]);
	VEC_FREE(&e->fd);
}

static int open_thread(struct gobreak *b, pid_t tid, struct perf_event_attr *a,
		       struct gobreak_events *to)
{
	for (size_t i = 0; i < b->n_rings; i++) {
		if (to->fd.n >= EVENTS_MAX)
			return -EMFILE;
		int fd = b->open(a, tid, b->ring[i].cpu, -1, PERF_FLAG_FD_CLOEXEC);
		if (fd < 0)
			return -errno;
		if (ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, b->ring[i].fd) < 0 ||
		    !VEC_PUSH(&to->fd, fd)) {
			int code = -errno;
			close(fd);
			return code;
		}
	}
	return 0;
}

static bool has(const pid_t *list, size_t n, pid_t tid)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == tid)
			return true;
	return false;
}

/* Until a scan finds nothing new.  What a thread with a breakpoint creates inherits it. */
static int open_threads(struct gobreak *b, uint32_t pid, struct perf_event_attr *a,
			struct gobreak_events *to)
{
	CLEANUP_VEC VEC(pid_t) seen = { 0 };
	size_t n_new = 1;
	for (unsigned int scan = 0; n_new && scan < SCANS_MAX; scan++) {
		CLEANUP_FREE pid_t *tids = NULL;
		int n = synth_list(b->host, (pid_t)pid, &tids);
		n_new = 0;
		for (int i = 0; i < n; i++) {
			if (has(seen.v, seen.n, tids[i]))
				continue;
			int code = open_thread(b, tids[i], a, to);
			if (code < 0 && code != -ESRCH)
				return code;
			if (!VEC_PUSH(&seen, tids[i]))
				return -ENOMEM;
			n_new++;
		}
	}
	return to->fd.n ? 0 : -ESRCH;
}

bool gobreak_open(struct gobreak *b, uint32_t pid, uint64_t address, unsigned int n_stack_bytes,
		  struct gobreak_events *ret)
{
	CLEANUP_RIGHTS bool raised = rights_raise();
	if (!b->open || !b->arch)
		return fail(b, "perf events", ENOSYS);
	if (!b->is_tried) {
		b->is_tried = true;
		if (!open_rings(b) || !measure(b))
			b->cost_ns = 0;
	}
	if (!b->cost_ns)
		return false;
	struct perf_event_attr a = breakpoint(b->arch, address, n_stack_bytes);
	a.inherit = 1;
	a.inherit_thread = 1;
	a.remove_on_exec = 1;
	int code = open_threads(b, pid, &a, ret);
	if (code == 0)
		return true;
	gobreak_close(ret);
	return fail(b, "a breakpoint in the program", -code);
}

/* ---- changes ----------------------------------------------------------------------------- */

/* A register of a sample. */
static uint64_t reg(const struct record_sample *s, unsigned int i)
{
	return s->user_regs[__builtin_popcountll(s->user_regs_mask & ((UINT64_C(1) << i) - 1))];
}

static void report(const struct gobreak *b, const struct record *r, gobreak_change *change,
		   void *ctx)
{
	uint64_t stack[GOBREAK_STACK_BYTES / 8];
	const struct record_sample *s = &r->sample;
	size_t n = s->n_user_stack_bytes < sizeof(stack) ? s->n_user_stack_bytes : sizeof(stack);
	if (!s->user_regs || s->user_abi != PERF_SAMPLE_REGS_ABI_64)
		return;
	if (n)
		memcpy(stack, s->user_stack, n);
	change(ctx, &(struct gobreak_hit){
		.pid = r->pid, .at = s->ip, .time_ns = r->time_ns,
		.g = reg(s, g_reg(b->arch)), .labels = reg(s, labels_reg(b->arch)),
		.sp = reg(s, sp_reg(b->arch)), .stack = stack, .n_words = n / 8,
	});
}

void gobreak_drain(struct gobreak *b, gobreak_change *change, void *ctx)
{
	struct record_format format;
	struct perf_event_attr a;
	if (!b->n_rings)
		return;
	a = breakpoint(b->arch, 0, 8);
	evattr_format(&a, &format);
	for (size_t i = 0; i < b->n_rings; i++) {
		struct ring *ring = &b->ring[i].ring;
		const void *raw;
		size_t n_bytes;
		struct record r;
		ring_fetch(ring);
		/* a loss has its record only once there is room again */
		b->n_lost += ring_waiting(ring) + FULL_BYTES > ring->n_data_bytes;
		while ((raw = ring_next(ring, &n_bytes))) {
			if (record_decode(&format, raw, n_bytes, &r) != RECORD_OK)
				continue;
			if (r.type == PERF_RECORD_LOST)
				b->n_lost += r.lost.n_lost;
			else if (r.type == PERF_RECORD_SAMPLE)
				report(b, &r, change, ctx);
		}
		ring_release(ring);
	}
}
