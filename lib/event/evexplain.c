/*
 * Rules of permission, kernel/events/core.c (the same from 4.x to 6.18):
 *
 * - perf_event_paranoid > 1 forbids events without exclude_kernel, > 0 forbids events of a
 *   CPU or cgroup (all tasks), each to processes without CAP_PERFMON or CAP_SYS_ADMIN in
 *   the initial user namespace: EACCES.  Debian's and Ubuntu's kernels know 3 and 4,
 *   which forbid all events: EACCES.
 * - another task's event needs ptrace read access to it, or CAP_PERFMON: EACCES.
 * - seccomp filters of container runtimes answer EPERM, some ENOSYS.
 *
 * Events: a PMU driver that does not map an event answers ENOENT, on x86 also EINVAL;
 * without any PMU driver it is ENOENT, with some hypervisors EOPNOTSUPP or ENODEV.
 */
#include "event/evexplain.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evspec.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define CAP_BIT_SYS_PTRACE 19
#define CAP_BIT_SYS_ADMIN 21
#define CAP_BIT_PERFMON 38
#define ERRNO_KERNEL_ENOTSUPP 524  /* the kernel's own ENOTSUPP, which some PMU drivers let out */

/* ---- facts about the machine and this process ---------------------------------- */

struct rights {
	long paranoid;      /* -1 .. 4 */
	bool perfmon;       /* CAP_PERFMON or CAP_SYS_ADMIN that counts */
	bool ptrace;        /* CAP_SYS_PTRACE that counts */
	bool lost_in_ns;    /* has CAP_PERFMON, but only in a user namespace of its own */
	bool seccomp;       /* a filter is installed */
	long uid;           /* effective, -1 unknown */
};

/* The number behind "KEY:" in the text of a status file; -1 when it is not there.  skip:
 * how many numbers to pass over. */
static long long status_field(const char *text, const char *key, int base, int skip)
{
	size_t n = strlen(key);
	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, n) || line[n] != ':')
			continue;
		char *at = (char *)line + n + 1, *end;
		for (;;) {
			unsigned long long x = strtoull(at, &end, base);
			if (end == at)
				return -1;
			if (skip-- == 0)
				return (long long)x;
			at = end;
		}
	}
	return -1;
}

static void read_rights(const struct host *h, struct rights *r)
{
	CLEANUP_FREE char *status = NULL, *map = NULL;
	*r = (struct rights){ .uid = -1 };
	if (host_read_long(h, HOST_PROC, &r->paranoid, "sys/kernel/perf_event_paranoid") < 0)
		r->paranoid = 2; /* the kernel's default */
	if (host_read_file(h, HOST_PROC, &status, NULL, "self/status") < 0)
		return;
	long long caps = status_field(status, "CapEff", 16, 0);
	if (caps < 0)
		caps = 0;
	r->seccomp = status_field(status, "Seccomp", 10, 0) == 2;
	r->uid = (long)status_field(status, "Uid", 10, 1);
	r->perfmon = caps >> CAP_BIT_PERFMON & 1 || caps >> CAP_BIT_SYS_ADMIN & 1;
	r->ptrace = caps >> CAP_BIT_SYS_PTRACE & 1;

	/* The kernel asks for rights in the initial namespace, which maps all ids to themselves. */
	unsigned long inside, outside, count;
	if (host_read_file(h, HOST_PROC, &map, NULL, "self/uid_map") == 0 &&
	    sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
	    (inside || outside || count != UINT32_MAX)) {
		r->lost_in_ns = r->perfmon;
		r->perfmon = r->ptrace = false;
	}
}

/* Effective user of a process; -1 unknown. */
static long user_of(const struct host *h, pid_t pid)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(h, HOST_PROC, &status, NULL, "%d/status", (int)pid) < 0)
		return -1;
	return (long)status_field(status, "Uid", 10, 1);
}

/* A PMU of the CPU's cores is named "cpu", or says with a file "cpus" on which cores it is (hybrid
 * x86, arm64); those outside the cores have "cpumask". */
static bool has_pmu(const struct host *h)
{
	int fd = host_open_file(h, HOST_SYS, O_RDONLY | O_DIRECTORY, "bus/event_source/devices");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	bool found = false;
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (struct dirent *d; !found && (d = readdir(dir));) {
		char path[300];
		if (d->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "%s/cpus", d->d_name);
		found = strcmp(d->d_name, "cpu") == 0 || faccessat(dirfd(dir), path, F_OK, 0) == 0;
	}
	closedir(dir);
	return found;
}

/* Is cpu in a list like "0-3,8"?  True where the list cannot be read. */
static bool is_online(const struct host *h, int cpu)
{
	CLEANUP_FREE char *list = NULL;
	if (host_read_file(h, HOST_SYS, &list, NULL, "devices/system/cpu/online") < 0)
		return true;
	for (char *at = list; *at;) {
		char *end;
		long from = strtol(at, &end, 10), to = from;
		if (end == at)
			return true;
		if (*end == '-')
			to = strtol(end + 1, &end, 10);
		if (from <= cpu && cpu <= to)
			return true;
		at = *end == ',' ? end + 1 : end + strlen(end);
	}
	return false;
}

/* Reads only the first CPU's block. */
static bool in_virtual_machine(const struct host *h)
{
	char text[4096];
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "cpuinfo");
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, " hypervisor") != NULL;
}

static bool locked_down(const struct host *h)
{
	CLEANUP_FREE char *text = NULL;
	return host_read_file(h, HOST_SYS, &text, NULL, "kernel/security/lockdown") == 0 &&
	       strstr(text, "[confidentiality]");
}

static long max_rate(const struct host *h)
{
	long hz;
	return host_read_long(h, HOST_PROC, &hz, "sys/kernel/perf_event_max_sample_rate") < 0 ? -1
											     : hz;
}

/* ---- cause ------------------------------------------------------------------------ */

static bool all_tasks(const struct evexplain_request *r)
{
	return r->pid < 0 || r->flags & PERF_FLAG_PID_CGROUP;
}

/* The highest kernel.perf_event_paranoid that allows the request. */
static long paranoid_needed(const struct evexplain_request *r)
{
	return all_tasks(r) ? 0 : r->attr->exclude_kernel ? 2 : 1;
}

static bool needs_pmu(const struct evexplain_request *r)
{
	return r->attr->type == PERF_TYPE_HARDWARE || r->attr->type == PERF_TYPE_HW_CACHE ||
	       r->attr->type == PERF_TYPE_RAW;
}

static enum evexplain_cause refused(const struct host *h, const struct evexplain_request *r,
				    int errnum)
{
	struct rights own;
	read_rights(h, &own);
	if (errnum == EPERM && own.seccomp)
		return EVEXPLAIN_SECCOMP;
	if (!own.perfmon && own.paranoid > paranoid_needed(r)) {
		if (own.paranoid > 2)
			return EVEXPLAIN_PARANOID_ALL;
		return all_tasks(r) ? EVEXPLAIN_PARANOID_CPU : EVEXPLAIN_PARANOID_KERNEL;
	}
	if (!all_tasks(r) && r->pid > 0 && !own.perfmon && !own.ptrace) {
		/* With hidepid= another user's status cannot even be read. */
		long user = user_of(h, r->pid);
		return user >= 0 && user == own.uid ? EVEXPLAIN_NOT_DUMPABLE : EVEXPLAIN_OTHER_USER;
	}
	if (locked_down(h))
		return EVEXPLAIN_LOCKDOWN;
	return EVEXPLAIN_SECURITY;
}

enum evexplain_cause evexplain_cause(const struct host *h, const struct evexplain_request *r,
				     int errnum)
{
	bool pmu = needs_pmu(r);
	switch (errnum) {
	case EACCES:
	case EPERM:
		return refused(h, r, errnum);
	case ENODEV:
	case ENXIO:
	case ENOENT:
		if (errnum != ENOENT && r->cpu >= 0 && !is_online(h, r->cpu))
			return EVEXPLAIN_CPU_OFFLINE;
		return pmu && !has_pmu(h) ? EVEXPLAIN_NO_PMU : EVEXPLAIN_NO_SUCH_EVENT;
	case EOPNOTSUPP:
	case ERRNO_KERNEL_ENOTSUPP:
		if (!pmu)
			return EVEXPLAIN_BITS;
		if (!has_pmu(h))
			return EVEXPLAIN_NO_PMU;
		return r->attr->precise_ip ? EVEXPLAIN_NOT_PRECISE : EVEXPLAIN_NO_INTERRUPT;
	case EINVAL:
		if (r->attr->freq && max_rate(h) >= 0 &&
		    r->attr->sample_freq > (uint64_t)max_rate(h))
			return EVEXPLAIN_RATE;
		if (r->cpu >= 0 && !is_online(h, r->cpu))
			return EVEXPLAIN_CPU_OFFLINE;
		if (pmu && !has_pmu(h))
			return EVEXPLAIN_NO_PMU;
		if (r->attr->type == PERF_TYPE_RAW)
			return EVEXPLAIN_RAW_CODE;
		return pmu ? EVEXPLAIN_NO_SUCH_EVENT : EVEXPLAIN_BITS;
	case E2BIG:
		return EVEXPLAIN_BITS;
	case EOVERFLOW:
		return EVEXPLAIN_MAX_STACK;
	case EBUSY:
	case ENOSPC:
		return EVEXPLAIN_BUSY;
	case EMFILE:
		return EVEXPLAIN_FILES_PROCESS;
	case ENFILE:
		return EVEXPLAIN_FILES_SYSTEM;
	case ESRCH:
		return EVEXPLAIN_NO_TASK;
	case ENOSYS:
		return EVEXPLAIN_NO_SYSCALL;
	case ENOMEM:
		return EVEXPLAIN_MEMORY;
	default:
		return EVEXPLAIN_OTHER;
	}
}

const char *evexplain_short(enum evexplain_cause cause)
{
	static const char *const text[EVEXPLAIN_N_CAUSES] = {
		[EVEXPLAIN_OTHER] = "cannot be opened",
		[EVEXPLAIN_NO_PMU] = "no PMU",
		[EVEXPLAIN_NO_SUCH_EVENT] = "not on this machine",
		[EVEXPLAIN_NO_INTERRUPT] = "the PMU cannot interrupt",
		[EVEXPLAIN_NOT_PRECISE] = "the PMU is not that precise",
		[EVEXPLAIN_PARANOID_ALL] = "kernel.perf_event_paranoid is above 2",
		[EVEXPLAIN_PARANOID_KERNEL] = "kernel.perf_event_paranoid is above 1",
		[EVEXPLAIN_PARANOID_CPU] = "kernel.perf_event_paranoid is above 0",
		[EVEXPLAIN_OTHER_USER] = "another user's process",
		[EVEXPLAIN_NOT_DUMPABLE] = "protected process",
		[EVEXPLAIN_SECCOMP] = "forbidden by a seccomp filter",
		[EVEXPLAIN_LOCKDOWN] = "the kernel is locked down",
		[EVEXPLAIN_SECURITY] = "forbidden by a security module",
		[EVEXPLAIN_BUSY] = "counters are in use",
		[EVEXPLAIN_FILES_PROCESS] = "too many open files",
		[EVEXPLAIN_FILES_SYSTEM] = "too many open files in the system",
		[EVEXPLAIN_RATE] = "rate above the kernel's limit",
		[EVEXPLAIN_RAW_CODE] = "the PMU refuses this code",
		[EVEXPLAIN_BITS] = "not known to this kernel",
		[EVEXPLAIN_MAX_STACK] = "stacks too deep",
		[EVEXPLAIN_NO_TASK] = "no such process",
		[EVEXPLAIN_CPU_OFFLINE] = "CPU offline",
		[EVEXPLAIN_NO_SYSCALL] = "no perf_event_open in this kernel",
		[EVEXPLAIN_MEMORY] = "out of memory",
	};
	return text[cause];
}

/* ---- remedy ----------------------------------------------------------------------- */

struct hint {
	char text[ERR_TEXT_MAX];
	size_t n;
};

static void __attribute__((format(printf, 2, 3))) say(struct hint *t, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(t->text + t->n, sizeof(t->text) - t->n, fmt, ap);
	va_end(ap);
	if (n > 0)
		t->n = t->n + (size_t)n < sizeof(t->text) ? t->n + (size_t)n : sizeof(t->text) - 1;
}

static void say_paranoid(struct hint *t, const struct host *h, const struct evexplain_request *r,
			 enum evexplain_cause cause)
{
	struct rights own;
	read_rights(h, &own);
	long needed = paranoid_needed(r);
	if (cause == EVEXPLAIN_PARANOID_ALL)
		say(t, "kernel.perf_event_paranoid is %ld: on this kernel nothing may be sampled without "
		    "CAP_PERFMON", own.paranoid);
	else if (cause == EVEXPLAIN_PARANOID_CPU)
		say(t, "kernel.perf_event_paranoid is %ld: without CAP_PERFMON no whole CPU or cgroup may "
		    "be sampled", own.paranoid);
	else
		say(t, "kernel.perf_event_paranoid is %ld: without CAP_PERFMON only user code may be "
		    "sampled", own.paranoid);
	say(t, "\n");
	if (cause == EVEXPLAIN_PARANOID_CPU)
		say(t, "record processes of your own, or ");
	if (cause == EVEXPLAIN_PARANOID_KERNEL && r->spec && !r->spec->only_kernel &&
	    !evspec_in_kernel(r->spec))
		say(t, "ask for user code only (':u', --user), or ");
	if (own.lost_in_ns)
		say(t, "get CAP_PERFMON outside of this user namespace (capabilities inside it do not "
		    "count)");
	else
		say(t, "get CAP_PERFMON (root has it)");
	say(t, ", or allow it to all users: sysctl kernel.perf_event_paranoid=%ld", needed);
	if (cause == EVEXPLAIN_PARANOID_ALL)
		say(t, " (2: user code of own processes, 1: their kernel side too, 0: whole CPUs)");
}

static void say_seccomp(struct hint *t, const struct host *h, const struct evexplain_request *r)
{
	struct rights own;
	read_rights(h, &own);
	say(t, "a seccomp filter, as containers have, forbids perf_event_open\nstart the container with "
	    "'--cap-add PERFMON', or with a seccomp profile that allows perf_event_open");
	if (!own.perfmon && own.paranoid > paranoid_needed(r))
		say(t, "; without CAP_PERFMON it also takes kernel.perf_event_paranoid=%ld (now %ld)",
		    paranoid_needed(r), own.paranoid);
}

static void say_busy(struct hint *t, const struct host *h)
{
	long watchdog;
	say(t, "the PMU's counters are in use\nstop other profilers, or record fewer events at once");
	if (host_read_long(h, HOST_PROC, &watchdog, "sys/kernel/nmi_watchdog") == 0 && watchdog == 1)
		say(t, "; the NMI watchdog holds one counter: sysctl kernel.nmi_watchdog=0");
}

static void say_files(struct hint *t, const struct host *h, enum evexplain_cause cause)
{
	long n;
	struct rlimit limit;
	if (cause == EVEXPLAIN_FILES_SYSTEM) {
		say(t, "all processes together have too many open files\n");
		if (host_read_long(h, HOST_PROC, &n, "sys/fs/file-max") == 0)
			say(t, "the limit is %ld: sysctl fs.file-max=%ld doubles it", n, n * 2);
		else
			say(t, "raise it with sysctl fs.file-max");
		return;
	}
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	say(t, "this process may have %llu files open\nrecord fewer events, threads or CPUs, or raise "
	    "the limit: ", (unsigned long long)limit.rlim_cur);
	if (limit.rlim_cur < limit.rlim_max)
		say(t, "ulimit -n %llu", (unsigned long long)limit.rlim_max);
	else
		say(t, "it stands at its hard limit, which root may raise (limits.conf(5), "
		    "LimitNOFILE= in a service)");
}

static void say_bits(struct hint *t, const struct host *h, const struct evexplain_request *r)
{
	CLEANUP_FREE char *release = NULL;
	if (host_read_file(h, HOST_PROC, &release, NULL, "sys/kernel/osrelease") == 0)
		say(t, "this kernel, %.*s, does not know a part of the request",
		    (int)strcspn(release, "\n"), release);
	else
		say(t, "this kernel does not know a part of the request");
	if (r->attr->sample_type & PERF_SAMPLE_CGROUP)
		say(t, "\nleave out cgroup ids, which need Linux 5.7");
	else if (r->attr->sample_type & PERF_SAMPLE_STACK_USER)
		say(t, "\nleave out stack copies: --call-graph fp");
	else
		say(t, "\n-v shows the request");
}

static void say_cause(struct hint *t, const struct host *h, const struct evexplain_request *r,
		      enum evexplain_cause cause)
{
	long n;
	switch (cause) {
	case EVEXPLAIN_NO_PMU:
		say(t, "this machine has no PMU that Linux can use%s\nuse 'cpu-clock', which needs none",
		    in_virtual_machine(h) ? ": a virtual machine has one only if its host passes it "
					    "through" : "");
		break;
	case EVEXPLAIN_NO_SUCH_EVENT:
		say(t, "this machine does not have the event\n'cprof list' shows which it has; the CPU's "
		    "manual may have a raw code for it (rHEX)");
		break;
	case EVEXPLAIN_NO_INTERRUPT:
		say(t, "this machine's PMU counts, but does not interrupt, so it cannot sample\nuse "
		    "'cpu-clock', which needs no PMU");
		break;
	case EVEXPLAIN_NOT_PRECISE:
		say(t, "this machine's PMU cannot place samples that precisely\nleave out a 'p'");
		break;
	case EVEXPLAIN_PARANOID_ALL:
	case EVEXPLAIN_PARANOID_KERNEL:
	case EVEXPLAIN_PARANOID_CPU:
		say_paranoid(t, h, r, cause);
		break;
	case EVEXPLAIN_OTHER_USER:
		n = user_of(h, r->pid);
		if (n >= 0)
			say(t, "thread %d belongs to user %ld\n", (int)r->pid, n);
		else
			say(t, "thread %d belongs to another user\n", (int)r->pid);
		say(t, "run cprof as that user, or with CAP_PERFMON (before Linux 5.9 CAP_SYS_PTRACE), or as "
		    "root");
		break;
	case EVEXPLAIN_NOT_DUMPABLE:
		say(t, "thread %d is yours, but may not be looked into (set-user-id, file capabilities, or "
		    "made undumpable by itself)\nrun cprof with CAP_PERFMON, or as root", (int)r->pid);
		break;
	case EVEXPLAIN_SECCOMP:
		say_seccomp(t, h, r);
		break;
	case EVEXPLAIN_LOCKDOWN:
		say(t, "the kernel is locked down for confidentiality\nboot without lockdown=confidentiality");
		break;
	case EVEXPLAIN_SECURITY:
		say(t, "neither kernel.perf_event_paranoid nor capabilities explain it: a security module "
		    "(SELinux, AppArmor) may forbid perf events\nthe kernel's log and audit.log name the "
		    "rule");
		break;
	case EVEXPLAIN_BUSY:
		say_busy(t, h);
		break;
	case EVEXPLAIN_FILES_PROCESS:
	case EVEXPLAIN_FILES_SYSTEM:
		say_files(t, h, cause);
		break;
	case EVEXPLAIN_RATE:
		say(t, "%llu Hz is above kernel.perf_event_max_sample_rate, %ld\nask for less, or for "
		    "'max'", (unsigned long long)r->attr->sample_freq, max_rate(h));
		break;
	case EVEXPLAIN_RAW_CODE:
		say(t, "this machine's PMU refuses the code 0x%llx\nlook it up in the CPU's manual, for "
		    "this very model", (unsigned long long)r->attr->config);
		break;
	case EVEXPLAIN_BITS:
		say_bits(t, h, r);
		break;
	case EVEXPLAIN_MAX_STACK:
		say(t, "stacks of %u frames were asked for", (unsigned)r->attr->sample_max_stack);
		if (host_read_long(h, HOST_PROC, &n, "sys/kernel/perf_event_max_stack") == 0)
			say(t, ", kernel.perf_event_max_stack is %ld\nask for %ld or less", n, n);
		break;
	case EVEXPLAIN_NO_TASK:
		say(t, "there is no such process or thread; it may have ended");
		break;
	case EVEXPLAIN_CPU_OFFLINE:
		say(t, "cpu %d is not online", r->cpu);
		break;
	case EVEXPLAIN_NO_SYSCALL:
		say(t, "this kernel was built without CONFIG_PERF_EVENTS, or a seccomp filter hides "
		    "perf_event_open");
		break;
	case EVEXPLAIN_MEMORY:
		say(t, "the kernel has no memory for it\nrecord fewer events, threads or CPUs");
		break;
	case EVEXPLAIN_OTHER:
	case EVEXPLAIN_N_CAUSES:
		break;
	}
}

int evexplain_set(const struct host *h, const struct evexplain_request *r, int errnum,
		  struct err *e)
{
	char where[64] = "", cpu[32] = "";
	if (!e)
		return -errnum;
	if (r->cpu >= 0)
		snprintf(cpu, sizeof(cpu), " on cpu %d", r->cpu);
	if (r->flags & PERF_FLAG_PID_CGROUP)
		snprintf(where, sizeof(where), " for the cgroup");
	else if (r->pid > 0)
		snprintf(where, sizeof(where), " for thread %d", (int)r->pid);
	else if (r->pid == 0)
		snprintf(where, sizeof(where), " for this process");
	if (r->spec)
		err_errno(e, errnum, "cannot open event '%s'%s%s", r->spec->name, where, cpu);
	else
		err_errno(e, errnum, "cannot open the side-band event%s%s", where, cpu);
	struct hint t = { .n = 0 };
	say_cause(&t, h, r, evexplain_cause(h, r, errnum));
	err_hint(e, "%s", t.text);
	return -errnum;
}
