/*
 * Permission rules, kernel/events/core.c (the same from 4.x to 6.18):
 *
 * - perf_event_paranoid > 2 is Debian's and Ubuntu's own.  It forbids everything; with Debian 12's
 *   6.1 CAP_PERFMON is not enough then, only CAP_SYS_ADMIN is
 * - perf_event_paranoid > 1 forbids events without exclude_kernel, > 0 events of a CPU or cgroup
 *   (all tasks), both to processes without CAP_PERFMON or CAP_SYS_ADMIN in the initial user
 *   namespace: EACCES.  Debian's and Ubuntu's kernels have levels 3 and 4, which forbid all events:
 *   EACCES.
 * - an event of another task needs ptrace read access to it, or CAP_PERFMON: EACCES.
 * - seccomp filters of container runtimes answer EPERM, some ENOSYS.
 * - tracepoints with their data (PERF_SAMPLE_RAW) need perf_event_paranoid -1 or CAP_PERFMON
 *   (perf_trace_event_perm: EPERM); kprobes and uprobes always need CAP_PERFMON (EACCES).
 *
 * PMUs outside the cores refuse to sample in their event_init(), with EINVAL: arch/x86/events/
 * msr.c, rapl.c, intel/cstate.c, intel/uncore.c, amd/uncore.c.  They cannot exclude a side either
 * (PERF_PMU_CAP_NO_EXCLUDE) and, except for msr, cannot follow a task (perf_invalid_context).
 * Arm's statistical profiling has a cpumask, but does sample.
 *
 * Events: a PMU driver that does not map an event answers ENOENT, on x86 also EINVAL; without any
 * PMU driver the answer is ENOENT, with some hypervisors EOPNOTSUPP or ENODEV.
 */
#include "event/evcause.h"

#include "base/cleanup.h"
#include "base/cpus.h"
#include "base/host.h"
#include "event/evfield.h"
#include "event/evpmu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CAP_BIT_SYS_PTRACE 19
#define CAP_BIT_SYS_ADMIN 21
#define CAP_BIT_PERFMON 38
#define ERRNO_KERNEL_ENOTSUPP 524  /* the kernel's internal ENOTSUPP, which some PMU drivers leak */

/* ---- facts about the machine and this process ---------------------------------- */

/* The number after "KEY:" in the text of a status file, after `skip` numbers; -1 if it is
 * missing. */
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

void evcause_rights(const struct host *h, struct evcause_rights *ret)
{
	CLEANUP_FREE char *status = NULL, *map = NULL;
	*ret = (struct evcause_rights){ .uid = -1 };
	if (host_read_long(h, HOST_PROC, &ret->paranoid, "sys/kernel/perf_event_paranoid") < 0)
		ret->paranoid = 2; /* the kernel's default */
	if (host_read_file(h, HOST_PROC, &status, NULL, "self/status") < 0)
		return;
	long long caps = status_field(status, "CapEff", 16, 0);
	if (caps < 0)
		caps = 0;
	ret->seccomp = status_field(status, "Seccomp", 10, 0) == 2;
	ret->uid = (long)status_field(status, "Uid", 10, 1);
	ret->perfmon = caps >> CAP_BIT_PERFMON & 1 || caps >> CAP_BIT_SYS_ADMIN & 1;
	ret->admin = caps >> CAP_BIT_SYS_ADMIN & 1;
	ret->ptrace = caps >> CAP_BIT_SYS_PTRACE & 1;

	/* The kernel checks rights in the initial namespace, which maps all ids to themselves. */
	unsigned long inside, outside, count;
	if (host_read_file(h, HOST_PROC, &map, NULL, "self/uid_map") == 0 &&
	    sscanf(map, "%lu %lu %lu", &inside, &outside, &count) == 3 &&
	    (inside || outside || count != UINT32_MAX)) {
		ret->lost_in_ns = ret->perfmon;
		ret->perfmon = ret->admin = ret->ptrace = false;
	}
}

long evcause_user_of(const struct host *h, pid_t pid)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(h, HOST_PROC, &status, NULL, "%d/status", (int)pid) < 0)
		return -1;
	return (long)status_field(status, "Uid", 10, 1);
}

/* A PMU of the CPU's cores is called "cpu", or has a file "cpus" that lists its cores (hybrid x86,
 * arm64).  PMUs outside the cores have "cpumask". */
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

/* True if the list of online CPUs cannot be read. */
static bool is_online(const struct host *h, int cpu)
{
	CLEANUP_FREE char *list = NULL;
	if (host_read_file(h, HOST_SYS, &list, NULL, "devices/system/cpu/online") < 0)
		return true;
	return cpus_contain(list, cpu);
}

static bool locked_down(const struct host *h)
{
	CLEANUP_FREE char *text = NULL;
	return host_read_file(h, HOST_SYS, &text, NULL, "kernel/security/lockdown") == 0 &&
	       strstr(text, "[confidentiality]");
}

long evcause_max_rate_hz(const struct host *h)
{
	long hz;
	int r = host_read_long(h, HOST_PROC, &hz, "sys/kernel/perf_event_max_sample_rate");
	return r < 0 ? -1 : hz;
}

/* ---- cause ------------------------------------------------------------------------ */

static bool all_tasks(const struct evcause_request *r)
{
	return r->pid < 0 || r->flags & PERF_FLAG_PID_CGROUP;
}

long evcause_paranoid_needed(const struct evcause_request *r)
{
	if (r->attr->type == PERF_TYPE_TRACEPOINT && r->attr->sample_type & PERF_SAMPLE_RAW)
		return -1;
	return all_tasks(r) ? 0 : r->attr->exclude_kernel ? 2 : 1;
}

/* The number of a PMU is its event type; -1 if there is no such PMU. */
static bool is_of_pmu(const struct host *h, const struct evcause_request *r, const char *pmu)
{
	long type;
	return r->attr->type > PERF_TYPE_BREAKPOINT &&
	       host_read_long(h, HOST_SYS, &type, "bus/event_source/devices/%s/type", pmu) == 0 &&
	       type == (long)r->attr->type;
}

static bool is_probe(const struct host *h, const struct evcause_request *r)
{
	return is_of_pmu(h, r, "uprobe") || is_of_pmu(h, r, "kprobe");
}

void evcause_unit(const struct host *h, unsigned type, struct evcause_unit *ret)
{
	static const char *const counting[] = { "msr", "power", "cstate_core", "cstate_pkg" };
	struct evpmu_list l;
	*ret = (struct evcause_unit){ "", false };
	if (type <= PERF_TYPE_BREAKPOINT || evpmu_list(h, &l) < 0)
		return;
	for (size_t i = 0; i < l.n; i++) {
		const struct evpmu *p = &l.v[i];
		bool here = p->type == type && !p->is_core && strncmp(p->name, "arm_spe", 7) != 0;
		bool known = p->cpus != NULL;
		for (size_t k = 0; k < sizeof(counting) / sizeof(*counting); k++)
			known |= strcmp(p->name, counting[k]) == 0;
		if (!here || !known)
			continue;
		snprintf(ret->name, sizeof(ret->name), "%s", p->name);
		ret->only_cpus = strcmp(p->name, "msr") != 0;
	}
	evpmu_list_done(&l);
}

/* The limits of its PMU, whatever the event. */
static enum evcause beyond_unit(const struct host *h, const struct evcause_request *r)
{
	struct evcause_unit u;
	evcause_unit(h, r->attr->type, &u);
	if (u.name[0] && r->attr->sample_period)
		return EVCAUSE_NO_INTERRUPT;
	return u.only_cpus && !all_tasks(r) ? EVCAUSE_ONLY_CPUS : EVCAUSE_OTHER;
}

static bool needs_pmu(const struct evcause_request *r)
{
	return r->attr->type == PERF_TYPE_HARDWARE || r->attr->type == PERF_TYPE_HW_CACHE ||
	       r->attr->type == PERF_TYPE_RAW;
}

static enum evcause refused(const struct host *h, const struct evcause_request *r, int errnum)
{
	struct evcause_rights own;
	evcause_rights(h, &own);
	if (errnum == EPERM && own.seccomp)
		return EVCAUSE_SECCOMP;
	if (!own.perfmon && own.paranoid > evcause_paranoid_needed(r)) {
		if (own.paranoid > EVCAUSE_PARANOID_PERFMON)
			return EVCAUSE_PARANOID_ALL;
		if (evcause_paranoid_needed(r) < 0)
			return EVCAUSE_PARANOID_TRACE;
		return all_tasks(r) ? EVCAUSE_PARANOID_CPU : EVCAUSE_PARANOID_KERNEL;
	}
	if (!own.admin && own.paranoid > EVCAUSE_PARANOID_PERFMON)
		return EVCAUSE_PARANOID_ALL;
	if (!own.perfmon && is_probe(h, r))
		return EVCAUSE_PROBE;
	if (!all_tasks(r) && r->pid > 0 && !own.perfmon && !own.ptrace) {
		/* With hidepid= even the status of another user's process cannot be read. */
		long user = evcause_user_of(h, r->pid);
		return user >= 0 && user == own.uid ? EVCAUSE_NOT_DUMPABLE : EVCAUSE_OTHER_USER;
	}
	if (locked_down(h))
		return EVCAUSE_LOCKDOWN;
	return EVCAUSE_SECURITY;
}

static bool names_field(const struct evcause_request *r, const char *name)
{
	return r->field && r->field->name && strcmp(r->field->name, name) == 0;
}

static enum evcause invalid(const struct host *h, const struct evcause_request *r)
{
	const struct perf_event_attr *a = r->attr;
	bool pmu = needs_pmu(r), own_pmu = a->type > PERF_TYPE_BREAKPOINT;
	long max_hz = evcause_max_rate_hz(h);
	if (a->freq && max_hz >= 0 && a->sample_freq > (uint64_t)max_hz)
		return EVCAUSE_RATE;
	if (r->cpu >= 0 && !is_online(h, r->cpu))
		return EVCAUSE_CPU_OFFLINE;
	if (pmu && !has_pmu(h))
		return EVCAUSE_NO_PMU;
	enum evcause unit = beyond_unit(h, r);
	if (unit != EVCAUSE_OTHER && !names_field(r, "config"))
		return unit;
	if (names_field(r, "precise_ip"))
		return EVCAUSE_NOT_PRECISE;
	if (names_field(r, "branch_sample_type"))
		return EVCAUSE_NO_CALL_STACKS;
	/* PMUs outside the cores refuse to sample at all. */
	if (own_pmu && (names_field(r, "sample_freq") || names_field(r, "sample_period")))
		return EVCAUSE_NO_INTERRUPT;
	if (r->field && r->field->name && !names_field(r, "config"))
		return EVCAUSE_FIELD;
	if (a->type == PERF_TYPE_RAW || (own_pmu && names_field(r, "config")))
		return EVCAUSE_RAW_CODE;
	return pmu || names_field(r, "config") ? EVCAUSE_NO_SUCH_EVENT : EVCAUSE_BITS;
}

static enum evcause unsupported(const struct host *h, const struct evcause_request *r)
{
	bool own_pmu = r->attr->type > PERF_TYPE_BREAKPOINT;
	if (needs_pmu(r) && !has_pmu(h))
		return EVCAUSE_NO_PMU;
	if (r->attr->sample_type & PERF_SAMPLE_BRANCH_STACK)
		return EVCAUSE_NO_CALL_STACKS;
	if (!needs_pmu(r) && !own_pmu)
		return EVCAUSE_BITS;
	if (is_probe(h, r))
		return EVCAUSE_NO_SUCH_EVENT;
	return r->attr->precise_ip ? EVCAUSE_NOT_PRECISE : EVCAUSE_NO_INTERRUPT;
}

static enum evcause busy(const struct host *h, const struct evcause_request *r)
{
	if (r->attr->type == PERF_TYPE_BREAKPOINT)
		return EVCAUSE_BREAKPOINTS;
	return needs_pmu(r) || (r->attr->type > PERF_TYPE_BREAKPOINT && !is_probe(h, r))
		       ? EVCAUSE_BUSY : EVCAUSE_IN_USE;
}

/* A kernel with perf events has its sysctls.  If they exist, a filter pretends that the call does
 * not. */
static enum evcause no_syscall(const struct host *h)
{
	struct evcause_rights own;
	long n;
	evcause_rights(h, &own);
	return own.seccomp &&
	       host_read_long(h, HOST_PROC, &n, "sys/kernel/perf_event_paranoid") == 0
		       ? EVCAUSE_SECCOMP : EVCAUSE_NO_SYSCALL;
}

enum evcause evcause_find(const struct host *h, const struct evcause_request *r, int errnum)
{
	switch (errnum) {
	case EACCES:
	case EPERM:
		return refused(h, r, errnum);
	case ENODEV:
	case ENXIO:
	case ENOENT:
		if (errnum != ENOENT && r->cpu >= 0 && !is_online(h, r->cpu))
			return EVCAUSE_CPU_OFFLINE;
		return needs_pmu(r) && !has_pmu(h) ? EVCAUSE_NO_PMU : EVCAUSE_NO_SUCH_EVENT;
	case EOPNOTSUPP:
	case ERRNO_KERNEL_ENOTSUPP:
		return unsupported(h, r);
	case EINVAL:
		return invalid(h, r);
	case E2BIG:
		return r->field && r->field->name ? EVCAUSE_FIELD : EVCAUSE_BITS;
	case EOVERFLOW:
		return EVCAUSE_MAX_STACK;
	case EBUSY:
	case ENOSPC:
		return busy(h, r);
	case EMFILE:
		return EVCAUSE_FILES_PROCESS;
	case ENFILE:
		return EVCAUSE_FILES_SYSTEM;
	case ESRCH:
		return EVCAUSE_NO_TASK;
	case ENOSYS:
		return no_syscall(h);
	case ENOMEM:
		return EVCAUSE_MEMORY;
	case ETIMEDOUT:
		return EVCAUSE_SILENT;
	case EINTR:
		return EVCAUSE_INTERRUPTED;
	default:
		return EVCAUSE_OTHER;
	}
}
