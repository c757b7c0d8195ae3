/*
 * What perf_event_open(2) allows cprof to sample.  It is tried on this process, on one CPU and on
 * the requested process, with each kind of event and of stack.  Nothing is enabled, except for a
 * moment on this process.
 */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "base/units.h"
#include "cprof-events.h"
#include "event/evattr.h"
#include "event/evspec.h"
#include "proc/cgroup.h"
#include "source/synth.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct evopen_place self = { 0, -1, -1, 0 };

static struct perf_event_attr clock_attr(bool kernel_side)
{
	return (struct perf_event_attr){
		.size = sizeof(struct perf_event_attr), .type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_CPU_CLOCK, .sample_period = 1000000000, .disabled = 1,
		.sample_type = PERF_SAMPLE_IP, .exclude_kernel = !kernel_side,
		.exclude_hv = !kernel_side,
	};
}

/* Opens and closes an event.  Returns 0 or a positive errno; an error lowers the state of f, which
 * describes it. */
static int try_to(struct cprof_doctor *d, struct cprof_finding *f, enum cprof_finding_state state,
		  const struct perf_event_attr *a, const struct evopen_place *at)
{
	struct err e = { 0 };
	int fd = evopen_again(&d->open, NULL, a, at, &e);
	if (fd >= 0) {
		close(fd);
		return 0;
	}
	struct evcause_request r = { NULL, a, at->pid, at->cpu, at->flags, NULL };
	size_t first_line = strcspn(e.hint, "\n");
	if (first_line)
		doctor_worse(f, state, "%s: %.*s", strerror(-fd), (int)first_line, e.hint);
	else
		doctor_worse(f, state, "%s", strerror(-fd));
	doctor_remedies_for(d, f, &r, -fd);
	return -fd;
}

/* ---- permission to sample ----------------------------------- */

static bool find_rights(struct cprof_doctor *d)
{
	struct perf_event_attr user = clock_attr(false), all = clock_attr(true);
	struct cprof_finding *f = doctor_find(d, "scopes", "own-code", "Own processes", "%s", "");
	f->essential = true;
	bool works = try_to(d, f, CPROF_FINDING_NO, &user, &self) == 0;
	d->nothing_works = !works;
	if (works)
		doctor_worse(f, CPROF_FINDING_OK, "user code can be sampled");
	f = doctor_find(d, "scopes", "kernel-code", "Kernel code", "%s", "");
	if (try_to(d, f, works ? CPROF_FINDING_LIMITED : CPROF_FINDING_NO, &all, &self) == 0)
		doctor_worse(f, CPROF_FINDING_OK, "can be sampled");

	int cpu = sched_getcpu();
	const struct evopen_place whole_cpu = { -1, cpu < 0 ? 0 : cpu, -1, 0 };
	f = doctor_find(d, "scopes", "whole-cpus", "Whole CPUs (--scope cpu)", "%s", "");
	bool cpus = try_to(d, f, works ? CPROF_FINDING_LIMITED : CPROF_FINDING_NO, &user,
			   &whole_cpu) == 0;
	if (cpus)
		doctor_worse(f, CPROF_FINDING_OK, "can be sampled: short threads are seen, too");
	else if (works)
		doctor_worse(f, CPROF_FINDING_LIMITED,
			     "threads that live for less than a period are not seen");
	return cpus;
}

static void find_cgroup(struct cprof_doctor *d, bool cpus)
{
	struct cprof_finding *f = doctor_find(d, "scopes", "cgroup", "A cgroup (--scope cgroup)",
					      "%s", "");
	int r = cgroup_check(d->host, getpid(), false);
	if (!cpus)
		doctor_worse(f, CPROF_FINDING_LIMITED, "needs the same rights as --scope cpu");
	if (r == -EBUSY) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "this cgroup has controllers enabled for "
			     "its children, which would act on the command");
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --scope cpu, which needs no "
			      "cgroup");
		doctor_remedy(f, CPROF_REMEDY_PROGRAM, "start cprof in a cgroup without them: "
			      "systemd-run --user --scope -p Delegate=yes cprof record ...");
	} else if (r == -ENOENT) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "cgroup version 2 is not mounted");
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --scope cpu, which needs no "
			      "cgroup");
		doctor_remedy(f, CPROF_REMEDY_MOUNT,
			      "sudo mount -t cgroup2 none /sys/fs/cgroup");
	} else if (r == -ERANGE) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "this cgroup has limits, which programs "
			     "look up by its path: a command gets a cgroup on request only");
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --scope cgroup");
	} else if (r == -EPROTONOSUPPORT || r == -EOPNOTSUPP) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "%s", cgroup_why_not(r));
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --scope cpu, which needs no "
			      "cgroup");
	} else if (r < 0) {
		doctor_worse(f, CPROF_FINDING_LIMITED,
			     "no cgroup can be created below this one: %s", strerror(-r));
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --scope cpu, which needs no "
			      "cgroup");
		doctor_remedy(f, CPROF_REMEDY_PROGRAM, "start cprof in a cgroup of your own: "
			      "systemd-run --user --scope -p Delegate=yes cprof record ...");
	} else if (cpus) {
		doctor_worse(f, CPROF_FINDING_OK, "can be created for a command");
	}
}

/* ---- the requested process ----------------------------------- */

static int try_link(const struct host *h, uint32_t id, const char *name)
{
	CLEANUP_CLOSE int fd = host_open_process_link(h, id, name);
	return fd < 0 ? fd : 0;
}

static long try_file(const struct host *h, uint32_t id, const char *name)
{
	char text[16];
	long n = host_read_process_line(h, id, name, text, sizeof(text));
	return n == -EIO ? 0 : n;  /* "mem" was opened, and there is no memory at 0 */
}

static void find_file(struct cprof_doctor *d, struct cprof_finding *f, const char *name,
		      bool is_link, const char *without, const char *capability)
{
	uint32_t id = host_live_thread(d->host, (uint32_t)d->pid);
	long r = is_link ? try_link(d->host, id, name) : try_file(d->host, id, name);
	if (r >= 0)
		return;
	doctor_worse(f, CPROF_FINDING_LIMITED, "/proc/%d/%s: %s: %s", (int)d->pid, name,
		     strerror((int)-r), without);
	doctor_remedy_capability(d, f, capability);
}

static void find_process(struct cprof_doctor *d)
{
	struct perf_event_attr user = clock_attr(false);
	/* The main thread may have ended. */
	const struct evopen_place there = {
		(pid_t)host_live_thread(d->host, (uint32_t)d->pid), -1, -1, 0
	};
	CLEANUP_FREE pid_t *tids = NULL;
	int n = synth_list(d->host, d->pid, &tids);
	struct cprof_finding *f = doctor_find(d, "scopes", "process", "The process of -p",
					      "%d, with %d thread%s", (int)d->pid, n < 0 ? 0 : n,
					      units_s(n));
	f->essential = true;
	if (try_to(d, f, CPROF_FINDING_NO, &user, &there) == 0)
		doctor_worse(f, CPROF_FINDING_OK, "can be sampled");
	f = doctor_find(d, "names", "process-files", "Files of the process", "%s", "");
	find_file(d, f, "maps", false, "its code has no names", "cap_sys_ptrace");
	find_file(d, f, "root", true, "its files are looked up in this mount namespace",
		  "cap_sys_ptrace");
	find_file(d, f, "mem", false, "stacks longer than their copy cannot be completed",
		  "cap_sys_ptrace");
	if (f->state == CPROF_FINDING_OK)
		doctor_worse(f, CPROF_FINDING_OK, "maps, root and memory can be read");
}

/* ---- PMU and events ----------------------------------- */

/* The names of all PMUs, separated by blanks. */
static void list_pmus(const struct host *h, char *text, size_t n_bytes)
{
	int fd = host_open_file(h, HOST_SYS, O_RDONLY | O_DIRECTORY, "bus/event_source/devices");
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	size_t n = 0;
	text[0] = '\0';
	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (struct dirent *x; (x = readdir(dir));)
		if (x->d_name[0] != '.' && n + strlen(x->d_name) + 2 < n_bytes)
			n += (size_t)snprintf(text + n, n_bytes - n, "%s%s", n ? " " : "",
					      x->d_name);
	closedir(dir);
}

static bool find_pmu(struct cprof_doctor *d)
{
	char pmus[256];
	const char *why = NULL;
	long on;
	struct perf_event_attr a = clock_attr(false);
	list_pmus(d->host, pmus, sizeof(pmus));
	struct cprof_finding *f = doctor_find(d, "events", "pmu", "PMU", "%s", "");
	bool works = evopen_pmu_interrupts(&d->open, &why);
	if (works) {
		doctor_worse(f, CPROF_FINDING_OK, "counts and interrupts");
	} else {
		doctor_worse(f, CPROF_FINDING_LIMITED, "%s: no cycles, no cache events, no raw "
			     "events", why);
		a.type = PERF_TYPE_HARDWARE;
		a.config = PERF_COUNT_HW_CPU_CYCLES;
		a.sample_period = 1000000;
		int fd = evopen_again(&d->open, NULL, &a, &self, NULL);
		struct evcause_request r = { NULL, &a, 0, -1, 0, NULL };
		if (fd >= 0)
			close(fd);
		doctor_remedies_for(d, f, &r, fd < 0 ? -fd : EOPNOTSUPP);
	}
	if (pmus[0])
		doctor_worse(f, CPROF_FINDING_OK, "PMUs: %s", pmus);
	if (!works)
		return false;
	f = doctor_find(d, "events", "nmi-watchdog", "NMI watchdog", "%s", "");
	if (host_read_long(d->host, HOST_PROC, &on, "sys/kernel/nmi_watchdog") == 0 && on) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "holds one of the PMU's counters");
		doctor_remedy(f, CPROF_REMEDY_SYSCTL, "sudo sysctl kernel.nmi_watchdog=0");
	} else {
		doctor_worse(f, CPROF_FINDING_OK, "off: all counters are free");
	}
	/* Only x86 reports this; the PMUs of arm64 accept any level and ignore it. */
	long precise;
	bool is_known = host_read_long(d->host, HOST_SYS, &precise,
				   "bus/event_source/devices/cpu/caps/max_precise") == 0;
	if (is_known && precise > 0)
		doctor_find(d, "events", "precise", "Precise samples", "up to level %ld", precise);
	else
		doctor_find(d, "events", "precise", "Precise samples", "not reported by this PMU: "
			    "the modifiers p, pp, ppp are refused or have no effect");
	return true;
}

/* One finding for each group of the catalogue. */
static void find_events(struct cprof_doctor *d, bool pmu)
{
	static const char *const group[] = { "software", "hardware", "cache" };
	static const char *const title[] = { "Software events", "Hardware events", "Cache events" };
	struct cprof_event_probe *probe;
	if (cprof_event_probe_new_at(&d->open, &probe, NULL) < 0) {
		d->failed = true;
		return;
	}
	for (size_t g = 0; g < 3; g++) {
		struct cprof_event x;
		size_t n = 0, n_yes = 0;
		char no[256] = "";
		const char *why = "";
		if (g && !pmu)
			break;
		for (size_t i = 0; cprof_event_at(i, &x); i++) {
			enum cprof_event_state state;
			const char *reason;
			if (strcmp(x.group, group[g]) != 0 ||
			    cprof_event_test(probe, x.name, &state, &reason, NULL) < 0)
				continue;
			n++;
			if (state != CPROF_EVENT_NO) {
				n_yes++;
				continue;
			}
			why = reason;
			size_t len = strlen(no);
			snprintf(no + len, sizeof(no) - len, " %s", x.name);
		}
		struct cprof_finding *f = doctor_find(d, "events", group[g], title[g],
						      "%zu of %zu can be sampled", n_yes, n);
		if (n_yes < n)
			doctor_worse(f, n_yes && g ? CPROF_FINDING_OK : CPROF_FINDING_LIMITED,
				     "not%s (%s)", no, why);
		if (n_yes < n && g == 0 && d->rights.paranoid > 1 && !d->rights.perfmon) {
			doctor_remedy_capability(d, f, "cap_perfmon");
			doctor_remedy(f, CPROF_REMEDY_SYSCTL,
				      "sudo sysctl kernel.perf_event_paranoid=1");
		}
	}
	cprof_event_probe_free(probe);
}

static void find_tracepoints(struct cprof_doctor *d)
{
	static const char *const place[] = { "kernel/tracing", "kernel/debug/tracing" };
	struct cprof_finding *f = doctor_find(d, "events", "tracepoints", "Tracepoints", "%s", "");
	long id = -1;
	bool closed = false;
	for (size_t i = 0; i < 2 && id < 0; i++) {
		int r = host_read_long(d->host, HOST_SYS, &id,
					  "%s/events/sched/sched_switch/id", place[i]);
		closed |= r == -EACCES || r == -EPERM;
		if (r < 0)
			id = -1;
	}
	if (id < 0 && closed) {
		doctor_worse(f, CPROF_FINDING_LIMITED,
			     "tracefs is mounted, but this user may not read its events");
		doctor_remedy(f, CPROF_REMEDY_MOUNT, "sudo mount -o remount,mode=0750,gid=%ld "
			      "/sys/kernel/tracing", (long)getegid());
	} else if (id < 0) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "tracefs is not mounted");
		doctor_remedy(f, CPROF_REMEDY_MOUNT,
			      "sudo mount -t tracefs nodev /sys/kernel/tracing");
	} else {
		struct perf_event_attr a = clock_attr(true);
		a.type = PERF_TYPE_TRACEPOINT;
		a.config = (uint64_t)id;
		a.sample_period = 1;
		if (try_to(d, f, CPROF_FINDING_LIMITED, &a, &self) == 0)
			doctor_worse(f, CPROF_FINDING_OK, "can be sampled");
	}
}

/* The breakpoint below watches this function. */
static void landmark(void)
{
}

static void find_breakpoints(struct cprof_doctor *d)
{
	struct cprof_finding *f = doctor_find(d, "events", "breakpoints", "Breakpoints", "%s", "");
	struct perf_event_attr a = clock_attr(false);
	a.type = PERF_TYPE_BREAKPOINT;
	a.config = 0;
	a.bp_type = HW_BREAKPOINT_X;
	a.bp_addr = (uint64_t)(uintptr_t)landmark;
	a.bp_len = sizeof(long);
	a.sample_period = 1;
	if (try_to(d, f, CPROF_FINDING_LIMITED, &a, &self) == 0)
		doctor_worse(f, CPROF_FINDING_OK, "can be sampled");
	long type;
	f = doctor_find(d, "events", "uprobes", "Uprobes", "%s", "");
	if (host_read_long(d->host, HOST_SYS, &type, "bus/event_source/devices/uprobe/type") < 0) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "this kernel has none");
		doctor_remedy(f, CPROF_REMEDY_BOOT, "boot a kernel with CONFIG_UPROBE_EVENTS=y");
	} else if (d->rights.perfmon && d->nothing_works) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "see 'Own processes'");
	} else if (d->rights.perfmon) {
		doctor_worse(f, CPROF_FINDING_OK, "can be sampled");
	} else {
		doctor_worse(f, CPROF_FINDING_LIMITED, "probes need CAP_PERFMON");
		doctor_remedy_capability(d, f, "cap_perfmon");
	}
}

/* ---- stacks ----------------------------------- */

static void find_stacks(struct cprof_doctor *d)
{
	struct perf_event_attr a = clock_attr(false);
	long n;
	struct cprof_finding *f = doctor_find(d, "stacks", "cfi", "Stacks by CFI", "%s", "");
	a.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN;
	a.sample_regs_user = evattr_user_regs();
	a.sample_stack_user = 8192;
	a.exclude_callchain_user = 1;
	if (!a.sample_regs_user)
		doctor_worse(f, CPROF_FINDING_LIMITED, "not on this architecture");
	else if (try_to(d, f, CPROF_FINDING_LIMITED, &a, &self) == 0)
		doctor_worse(f, CPROF_FINDING_OK, "work (registers and copies of the stack)");
	if (f->state != CPROF_FINDING_OK)
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --call-graph fp");
	f = doctor_find(d, "stacks", "frame-pointers", "Stacks by frame pointer", "%s", "");
	a = clock_attr(false);
	a.sample_type |= PERF_SAMPLE_CALLCHAIN;
	if (try_to(d, f, CPROF_FINDING_LIMITED, &a, &self) == 0)
		doctor_worse(f, CPROF_FINDING_OK, "work");
	if (host_read_long(d->host, HOST_PROC, &n, "sys/kernel/perf_event_max_stack") < 0)
		return;
	bool few = n < 127;
	doctor_worse(f, few ? CPROF_FINDING_LIMITED : CPROF_FINDING_OK,
		     "at most %ld frames (kernel.perf_event_max_stack)", n);
	if (few) {
		doctor_remedy(f, CPROF_REMEDY_OPTION, "cprof record --call-graph dwarf, whose user "
			      "stacks have no such limit");
		doctor_remedy(f, CPROF_REMEDY_SYSCTL,
			      "sudo sysctl kernel.perf_event_max_stack=127");
	}
}

void doctor_events(struct cprof_doctor *d)
{
	bool cpus = find_rights(d);
	find_cgroup(d, cpus);
	if (d->pid)
		find_process(d);
	bool pmu = find_pmu(d);
	find_events(d, pmu);
	find_tracepoints(d);
	find_breakpoints(d);
	find_stacks(d);
}
