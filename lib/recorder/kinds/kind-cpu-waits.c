/*
 * Events that measure waits, cprof-waiting(7): how they are opened with the rights at hand.
 *
 * With the right to sample the kernel, a context switch is sampled with its stack.  Otherwise a
 * dummy event carries the SWITCH records, which are exact and need no right for one's own
 * processes, and the stacks of threads that wait are read from /proc.  An event of user code only
 * would open and never sample, because the registers of a context switch are the kernel's.
 */

#include "recorder/kinds/kind-cpu.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "engine/waits-reason.h"
#include "event/evtrace.h"
#include "recorder/kinds/kind-cpu-polls.h"
#include "symbolize/kernel/symkernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of samples of context switches and of wake-ups, whose stacks end in the C library or a runtime's
 * loop: with so much they cost no more than those of perf record -g. */
#define STACK_BYTES 6144u

bool kind_cpu_waits_any(const struct kind_cpu *c)
{
	for (size_t i = 0; i < c->events.n; i++)
		if (c->events.v[i].waiting)
			return true;
	return false;
}

int kind_cpu_waits_check(const struct kind_session *k, struct err *e)
{
	const struct kind_cpu *c = k->state;
	if (!kind_cpu_waits_any(c) || !k->config->pausable)
		return 0;
	err_set(e, EINVAL, "waits cannot be paused: those that go on meanwhile have no length");
	err_hint(e, "record without --control, --trigger and --delay -1, or other events");
	return -EINVAL;
}

/* May this process sample the kernel's side of its own threads?  An event could open and deliver
 * nothing, so it must have counted a switch. */
static int try_switches(const struct evopen *open)
{
	struct perf_event_attr a = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
		.config = PERF_COUNT_SW_CONTEXT_SWITCHES, .sample_period = 1,
	};
	uint64_t n_switches = 0;
	CLEANUP_CLOSE int fd = open->fn(&a, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	nanosleep(&(struct timespec){ .tv_nsec = 1000 }, NULL);
	ssize_t n = read(fd, &n_switches, sizeof(n_switches));
	return n == (ssize_t)sizeof(n_switches) && n_switches == 0 ? -EACCES : 0;
}

/* One event samples switches for all profiles of waits; the others never happen. */
static void choose_source(struct kind_session *k, bool is_denied)
{
	struct kind_cpu *c = k->state;
	bool is_found = false;
	for (size_t i = 0; i < c->events.n; i++) {
		struct evspec *s = &c->events.v[i];
		bool is_wake = s->waiting && s->has_raw;
		if ((s->has_switches || is_wake) && !s->stack_bytes && !k->config->stack_bytes)
			s->stack_bytes = STACK_BYTES;
		if (!s->has_switches)
			continue;
		k->event[i].waits |= WAITS_SOURCE;
		if ((is_denied && !k->config->only_user) || is_found)
			evspec_use_records(s);
		if (is_found)
			s->has_switches = false;
		else
			c->waits.event = (uint32_t)i;
		is_found = true;
	}
}

/* The first variant of each event has its counts. */
static void choose_roles(struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	for (size_t i = 0; i < c->events.n; i++) {
		const struct evspec *s = &c->events.v[i];
		if (s->waiting == EVSPEC_OFF_CPU)
			k->event[i].waits |= WAITS_OFF;
		else if (s->waiting == EVSPEC_WALL && s->is_clock)
			k->event[i].waits |= WAITS_CLOCK | WAITS_RUN | WAITS_OFF;
		else if (s->waiting == EVSPEC_BLOCK)
			k->event[i].waits |= WAITS_LOCKS;
		else if (s->has_raw)
			k->event[i].waits |= WAITS_WAKE | WAITS_WAKERS;
	}
}

/* The period that the user gave as a time is a quantum of the profiles of waits. */
static void choose_quanta(struct kind_session *k)
{
	const struct kind_cpu *c = k->state;
	for (size_t i = 0; i < c->events.n; i++) {
		const struct evspec *s = &c->events.v[i];
		if (s->waiting)
			k->event[i].quantum_ns = s->quantum_ns ? s->quantum_ns : c->quantum_ns;
	}
}

static bool has_locks(const struct kind_cpu *c)
{
	for (size_t i = 0; i < c->events.n; i++)
		if (c->events.v[i].waiting == EVSPEC_BLOCK ||
		    c->events.v[i].waiting == EVSPEC_MUTEX)
			return true;
	return false;
}

/* The kernel takes long to print its names, so they are kept for the next recording.  NULL: they
 * are hidden. */
static struct symkernel *open_names(const struct kind_session *k)
{
	const char *dir = k->config->naming.no_cache
				  ? NULL : host_cache_dir(k->host, k->config->cache_dir);
	struct symkernel *names;
	if (dir && symkernel_cache_open(k->host, dir, &names) == 0)
		return names;
	if (symkernel_open(k->host, &names, NULL) < 0)
		return NULL;
	if (dir)
		symkernel_cache_save(names, k->host, dir);
	return names;
}

/* False: locks cannot be recognized. */
static bool find_code(struct kind_session *k)
{
	struct waits_code *code = ((struct kind_cpu *)k->state)->waits.code;
	struct symkernel *names = open_names(k);
	size_t n = 0;
	if (!names)
		return false;
	for (size_t i = 0; i < WAITS_N_FUNCTIONS; i++) {
		const struct waits_reason_function *f = &waits_reason_function[i];
		if (!symkernel_code(names, f->name, &code[n].start, &code[n].end))
			continue;
		code[n].reason = f->reason;
		code[n++].has_address = f->has_address;
	}
	symkernel_close(names);
	return n && code[0].reason == WAITS_FOR_LOCK;
}

/* PROC_PID_INIT_INO of include/linux/proc_ns.h. */
#define INIT_PID_NAMESPACE_INODE 0xEFFFFFFCu

/* The tracepoint's data has ids of the first pid namespace. */
static bool is_first_namespace(const struct host *h)
{
	struct stat st;
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "self/ns/pid");
	return fd >= 0 && fstat(fd, &st) == 0 && st.st_ino == INIT_PID_NAMESPACE_INODE;
}

/* Finds the tracepoint of wake-ups, if an event needs it. */
static int find_wakes(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	CLEANUP(evtrace_list_done) struct evtrace_list points = { 0 };
	for (size_t i = 0; i < c->events.n; i++) {
		struct evspec *s = &c->events.v[i];
		if (!s->has_raw)
			continue;
		if (c->waits.only_looks || !is_first_namespace(k->host)) {
			err_set(e, EACCES, "event '%s' shows who wakes a thread, which needs "
				"CAP_PERFMON outside of containers", s->name);
			err_hint(e, "see -e block for where threads wait");
			return -EACCES;
		}
		int r = evtrace_find(k->host, "sched", "sched_waking", &points, e);
		if (r < 0)
			return r;
		s->config = points.points.v[0].id;
		evtrace_list_done(&points);
	}
	return 0;
}

/* Locks are found by the arguments of futex(2), which come with copies of the stack, or from
 * /proc. */
static int check_locks(const struct kind_session *k, struct err *e)
{
	const struct kind_cpu *c = k->state;
	if (!k->config->locks)
		return 0;
	if (!has_locks(c)) {
		err_set(e, EINVAL, "no event measures waits for locks, which could have labels");
		err_hint(e, "record '-e block' or '-e mutex' as well");
		return -EINVAL;
	}
	if (c->waits.only_looks || c->attr.callgraph == EVATTR_CALLGRAPH_DWARF)
		return 0;
	err_set(e, EINVAL, "locks are found by registers, which samples have only together with "
		"copies of the stack");
	err_hint(e, "leave out --call-graph, or the labels of locks");
	return -EINVAL;
}

int kind_cpu_waits_choose(struct kind_session *k, struct err *e)
{
	struct kind_cpu *c = k->state;
	if (!kind_cpu_waits_any(c))
		return 0;
	c->waits.only_polls = kind_cpu_polls_why(k);
	int r = c->waits.only_polls ? -EACCES : try_switches(&c->open);
	bool is_denied = r == -EACCES || r == -EPERM;
	c->waits.only_looks = is_denied || (!find_code(k) && has_locks(c));
	r = check_locks(k, e);
	if (r < 0)
		return r;
	choose_source(k, c->waits.only_looks);
	choose_roles(k);
	choose_quanta(k);
	kind_cpu_thin_choose(k);
	if (c->waits.only_polls)
		return 0;
	if (c->waits.only_looks)
		log_line(k->log, LOG_NOTE, "waits: exact times by records of switches, stacks of "
			 "waiting threads from /proc: %s", is_denied ?
			 "the kernel may not be sampled (kernel.perf_event_paranoid, "
			 "CAP_PERFMON)" : "addresses of the kernel's functions are hidden "
			 "(kernel.kptr_restrict, CAP_SYSLOG)");
	else
		log_line(k->log, LOG_EXPLAIN, "waits: a sample with its stack of each switch");
	return find_wakes(k, e);
}
