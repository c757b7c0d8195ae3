/*
 * errno x event x target x machine -> cause, and the error message.  The rules are those of
 * kernel/events/core.c; the machine is a folder.
 */
#include "event/evcause.h"

#include "base/err.h"
#include "event/evadvice.h"
#include "event/evattr.h"
#include "event/evexplain.h"
#include "event/evfield.h"
#include "event/evparse.h"
#include "event/evspec.h"

#include <errno.h>
#include <sys/resource.h>

#include "event/machine.h"
#include "tap.h"

#define PERFMON (1ull << 38)
#define SYS_ADMIN (1ull << 21)
#define SYS_PTRACE (1ull << 19)

static struct machine m;
static struct evspec spec;
static struct perf_event_attr attr;

static const struct evcause_request *request(const char *event, pid_t pid, int cpu)
{
	static struct evcause_request r;
	static const struct evattr_options o = { .rate_default_hz = 999, .rate_max_hz = 50000 };
	struct evspec_list l = { NULL, 0 };
	if (evparse_list(&l, NULL, event, NULL) < 0) {
		tap_ok(false, "event '%s'", event);
		exit(tap_done());
	}
	spec = l.v[0];
	evspec_list_done(&l);
	evattr_sampling(&spec, &o, &attr);
	r = (struct evcause_request){ &spec, &attr, pid, cpu, 0, NULL };
	return &r;
}

static void is(const struct evcause_request *r, int errnum, enum evcause want, const char *what)
{
	enum evcause got = evcause_find(&m.host, r, errnum);
	tap_ok(got == want, "%s: %s", what, evadvice_brief(want));
	if (got != want)
		printf("# got %s\n", evadvice_brief(got));
}

static void permission(void)
{
	static const struct {
		int paranoid;
		const char *event;
		pid_t pid;
		int cpu;
		enum evcause want;
	} rule[] = {
		/* Without rights, EACCES.  The sysctl is not to blame if it would allow the
		 * event. */
		{ 4, "cycles:u", 0, -1, EVCAUSE_PARANOID_ALL },
		{ 3, "cycles:u", 0, -1, EVCAUSE_PARANOID_ALL },
		{ 3, "cycles", -1, 0, EVCAUSE_PARANOID_ALL },
		{ 2, "cycles:u", 0, -1, EVCAUSE_SECURITY },
		{ 2, "cycles", 0, -1, EVCAUSE_PARANOID_KERNEL },
		{ 2, "cycles:k", 0, -1, EVCAUSE_PARANOID_KERNEL },
		{ 2, "cycles:u", -1, 0, EVCAUSE_PARANOID_CPU },
		{ 2, "cycles", -1, 0, EVCAUSE_PARANOID_CPU },
		{ 1, "cycles", -1, 0, EVCAUSE_PARANOID_CPU },
		{ 1, "cycles", 0, -1, EVCAUSE_SECURITY },
		{ 0, "cycles", -1, 0, EVCAUSE_SECURITY },
		{ -1, "cycles", -1, 0, EVCAUSE_SECURITY },
		{ 2, "cycles:u", 77, -1, EVCAUSE_OTHER_USER },
		{ 2, "cycles", 77, -1, EVCAUSE_PARANOID_KERNEL },
		{ 1, "cycles", 77, 2, EVCAUSE_OTHER_USER },
		{ -1, "cycles", 77, -1, EVCAUSE_OTHER_USER },
		{ 1, "cycles", 78, -1, EVCAUSE_NOT_DUMPABLE },
		{ 1, "cycles", 79, -1, EVCAUSE_OTHER_USER },  /* /proc with hidepid= */
	};
	for (size_t i = 0; i < sizeof(rule) / sizeof(*rule); i++) {
		char what[100];
		machine_rights(&m, rule[i].paranoid, 0, 0);
		snprintf(what, sizeof(what), "paranoid %d, %s, pid %d cpu %d", rule[i].paranoid,
			 rule[i].event, (int)rule[i].pid, rule[i].cpu);
		const struct evcause_request *r = request(rule[i].event, rule[i].pid, rule[i].cpu);
		is(r, EACCES, rule[i].want, what);
		is(r, EPERM, rule[i].want, what);
	}

	machine_rights(&m, 3, PERFMON, 0);
	is(request("cycles", 0, -1), EACCES, EVCAUSE_PARANOID_ALL,
	   "Debian's kernel requires more than CAP_PERFMON");
	static const unsigned long long enough[] = { PERFMON, SYS_ADMIN, PERFMON | SYS_ADMIN };
	for (size_t i = 0; i < 3; i++) {
		machine_rights(&m, enough[i] & SYS_ADMIN ? 4 : 2, enough[i], 0);
		is(request("cycles", 0, -1), EACCES, EVCAUSE_SECURITY, "with rights");
		is(request("cycles", -1, 0), EACCES, EVCAUSE_SECURITY, "with rights, a whole CPU");
		is(request("cycles", 77, -1), EACCES, EVCAUSE_SECURITY, "with rights, another's");
	}
	machine_rights(&m, 2, SYS_PTRACE, 0);
	is(request("cycles", 0, -1), EACCES, EVCAUSE_PARANOID_KERNEL, "CAP_SYS_PTRACE");
	is(request("cycles:u", 77, -1), EACCES, EVCAUSE_SECURITY, "CAP_SYS_PTRACE, another's");

	struct evcause_request cgroup = *request("cycles", 5, 0);
	cgroup.flags = PERF_FLAG_PID_CGROUP;
	machine_rights(&m, 1, 0, 0);
	is(&cgroup, EACCES, EVCAUSE_PARANOID_CPU, "a cgroup is a whole CPU");
	machine_rights(&m, 0, 0, 0);
	is(&cgroup, EACCES, EVCAUSE_SECURITY, "and its folder no process");

	machine_rights(&m, 2, PERFMON, 0);
	machine_file(&m, "proc/self/uid_map", "         0       1000          1\n");
	is(request("cycles", 0, -1), EACCES, EVCAUSE_PARANOID_KERNEL, "root of a user namespace");
	machine_file(&m, "proc/self/uid_map", "         0          0 4294967295\n");

	machine_rights(&m, 2, 0, 2);
	is(request("cycles", 0, -1), EPERM, EVCAUSE_SECCOMP, "a filter");
	is(request("cycles", 0, -1), EACCES, EVCAUSE_PARANOID_KERNEL, "a filter that let it pass");
	machine_rights(&m, 1, 0, 0);
	machine_file(&m, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	is(request("cycles", 0, -1), EPERM, EVCAUSE_LOCKDOWN, "lockdown");
	machine_file(&m, "sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
	is(request("cycles", 0, -1), EPERM, EVCAUSE_SECURITY, "no lockdown");
	machine_file(&m, "proc/self/status", NULL);
	is(request("cycles", -1, 0), EACCES, EVCAUSE_PARANOID_CPU, "rights unknown");
	machine_file(&m, "proc/sys/kernel/perf_event_paranoid", NULL);
	is(request("cycles", 0, -1), EACCES, EVCAUSE_PARANOID_KERNEL, "sysctl unknown: taken as 2");
	machine_rights(&m, 2, 0, 0);
}

static void event(void)
{
	static const char *const pmu_events[] = { "cycles", "LLC-loads", "r1" };
	for (size_t i = 0; i < 3; i++) {
		const struct evcause_request *r = request(pmu_events[i], 0, -1);
		is(r, ENOENT, EVCAUSE_NO_PMU, pmu_events[i]);
		is(r, EOPNOTSUPP, EVCAUSE_NO_PMU, pmu_events[i]);
		is(r, 524, EVCAUSE_NO_PMU, pmu_events[i]);
		is(r, ENODEV, EVCAUSE_NO_PMU, pmu_events[i]);
		is(r, EINVAL, EVCAUSE_NO_PMU, pmu_events[i]);
	}
	is(request("cpu-clock", 0, -1), ENOENT, EVCAUSE_NO_SUCH_EVENT, "a software event");
	is(request("cpu-clock", 0, -1), EOPNOTSUPP, EVCAUSE_BITS, "a software event");

	static const char *const pmus[] = { "cpu/type", "cpu_core/cpus", "armv8_pmuv3_0/cpus" };
	for (size_t i = 0; i < 3; i++) {
		char path[100];
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", pmus[i]);
		machine_file(&m, path, "0\n");
		is(request("cycles", 0, -1), ENOENT, EVCAUSE_NO_SUCH_EVENT, pmus[i]);
		is(request("LLC-loads", 0, -1), EINVAL, EVCAUSE_NO_SUCH_EVENT, pmus[i]);
		is(request("r1", 0, -1), EINVAL, EVCAUSE_RAW_CODE, pmus[i]);
		is(request("cycles", 0, -1), EOPNOTSUPP, EVCAUSE_NO_INTERRUPT, pmus[i]);
		is(request("cycles:p", 0, -1), EOPNOTSUPP, EVCAUSE_NOT_PRECISE, pmus[i]);
		machine_file(&m, path, NULL);
		*strrchr(path, '/') = '\0';
		char full[PATH_MAX];
		snprintf(full, sizeof(full), "%s/%s", m.dir, path);
		rmdir(full);
	}
	is(request("cycles", 0, -1), ENOENT, EVCAUSE_NO_PMU, "without them");
}

/* Events of kinds that are not in the table of names: attrs made by hand. */
static void kinds(void)
{
	struct evcause_request r = *request("cpu-clock", 12, -1);
	machine_file(&m, "sys/bus/event_source/devices/uprobe/type", "9\n");
	attr.type = PERF_TYPE_TRACEPOINT;
	attr.sample_type |= PERF_SAMPLE_RAW;
	machine_rights(&m, 0, 0, 0);
	is(&r, EPERM, EVCAUSE_PARANOID_TRACE, "a tracepoint's data");
	tap_int(evcause_paranoid_needed(&r), -1, "  takes -1");
	machine_rights(&m, -1, 0, 0);
	is(&r, ENOENT, EVCAUSE_NO_SUCH_EVENT, "a tracepoint that is gone");
	attr.sample_type &= ~(uint64_t)PERF_SAMPLE_RAW;
	attr.type = PERF_TYPE_BREAKPOINT;
	is(&r, ENOSPC, EVCAUSE_BREAKPOINTS, "a fifth breakpoint");
	is(&r, EBUSY, EVCAUSE_BREAKPOINTS, "a breakpoint of a debugger's");
	attr.type = 9;
	is(&r, EACCES, EVCAUSE_PROBE, "a uprobe, whatever the sysctl says");
	machine_rights(&m, 2, PERFMON, 0);
	is(&r, EACCES, EVCAUSE_SECURITY, "a uprobe with the right to it");
	is(&r, 524, EVCAUSE_NO_SUCH_EVENT, "an instruction that cannot be probed");
	attr.type = 21;
	is(&r, EOPNOTSUPP, EVCAUSE_NO_INTERRUPT, "a PMU outside of the cores");
	static const struct { const char *type, *mask; enum evcause sampling, counting; } unit[] = {
		{ "power/type", "power/cpumask", EVCAUSE_NO_INTERRUPT, EVCAUSE_ONLY_CPUS },
		{ "msr/type", NULL, EVCAUSE_NO_INTERRUPT, EVCAUSE_BITS },
		{ "other/type", NULL, EVCAUSE_BITS, EVCAUSE_BITS },
		{ "arm_spe_0/type", "arm_spe_0/cpumask", EVCAUSE_BITS, EVCAUSE_BITS },
	};
	for (size_t i = 0; i < sizeof(unit) / sizeof(*unit); i++) {
		char path[100];
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", unit[i].type);
		machine_file(&m, path, "23\n");
		if (unit[i].mask) {
			snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s",
				 unit[i].mask);
			machine_file(&m, path, "0\n");
		}
		attr.type = 23;
		uint64_t period = attr.sample_period;
		is(&r, EINVAL, unit[i].sampling, unit[i].type);
		attr.sample_period = 0;
		is(&r, EINVAL, unit[i].counting, "  as a member that only counts");
		attr.sample_period = period;
		snprintf(path, sizeof(path), "sys/bus/event_source/devices/%s", unit[i].type);
		machine_file(&m, path, NULL);
	}
	attr.type = 21;
	is(&r, EINTR, EVCAUSE_INTERRUPTED, "signals");
	is(&r, EBUSY, EVCAUSE_BUSY, "counters in use");
	attr.type = PERF_TYPE_TRACEPOINT;
	is(&r, EBUSY, EVCAUSE_IN_USE, "no counter is in it");
	attr.type = 21;
	const struct evfield freq = { "sample_freq", 999, NULL }, code = { "config", 5, NULL },
			     term = { "config1", 7, NULL }, precise = { "precise_ip", 2, NULL };
	r.field = &freq;
	is(&r, EINVAL, EVCAUSE_NO_INTERRUPT, "it refuses to sample");
	r.field = &code;
	is(&r, EINVAL, EVCAUSE_RAW_CODE, "it refuses the code");
	r.field = &term;
	is(&r, EINVAL, EVCAUSE_FIELD, "it refuses a term");
	r.field = &precise;
	is(&r, EINVAL, EVCAUSE_NOT_PRECISE, "it is not that precise");
	machine_rights(&m, 2, PERFMON, 2);
	is(&r, ENOSYS, EVCAUSE_SECCOMP, "no such call, though there is its sysctl: a filter");
	machine_rights(&m, 2, 0, 0);
	machine_file(&m, "sys/bus/event_source/devices/uprobe/type", NULL);
}

static void limits(void)
{
	is(request("cpu-clock", 0, 3), ENODEV, EVCAUSE_CPU_OFFLINE, "a hole in the list of CPUs");
	is(request("cpu-clock", 0, 5), EINVAL, EVCAUSE_CPU_OFFLINE, "a CPU after the last");
	is(request("cpu-clock", 0, 4), ENODEV, EVCAUSE_NO_SUCH_EVENT, "a CPU that is there");
	is(request("cpu-clock", 0, 4), EINVAL, EVCAUSE_BITS, "a CPU that is there");
	is(request("cpu-clock/freq=50001/", 0, 0), EINVAL, EVCAUSE_RATE, "50001 Hz");
	is(request("cpu-clock/freq=50000/", 0, 0), EINVAL, EVCAUSE_BITS, "50000 Hz");
	is(request("cpu-clock/period=50001/", 0, 0), EINVAL, EVCAUSE_BITS, "a period");
	static const struct { int errnum; enum evcause want; } plain[] = {
		{ E2BIG, EVCAUSE_BITS }, { EOVERFLOW, EVCAUSE_MAX_STACK },
		{ EBUSY, EVCAUSE_IN_USE }, { ENOSPC, EVCAUSE_IN_USE },
		{ EMFILE, EVCAUSE_FILES_PROCESS },
		{ ENFILE, EVCAUSE_FILES_SYSTEM }, { ESRCH, EVCAUSE_NO_TASK },
		{ ENOSYS, EVCAUSE_NO_SYSCALL }, { ENOMEM, EVCAUSE_MEMORY }, { EINTR,
			EVCAUSE_INTERRUPTED },
		{ EFAULT, EVCAUSE_OTHER },
	};
	for (size_t i = 0; i < sizeof(plain) / sizeof(*plain); i++)
		is(request("cpu-clock", 0, -1), plain[i].errnum, plain[i].want,
		   strerror(plain[i].errnum));
	bool all = true;
	for (int i = 0; i < EVCAUSE_N_CAUSES; i++)
		all &= evadvice_brief(i) && strlen(evadvice_brief(i)) <= 40;
	tap_ok(all, "each cause has a few words");
}

static void says(const struct evcause_request *r, int errnum, const char *what, const char *hint)
{
	struct err e = { 0 };
	tap_int(evexplain_set(&m.host, r, errnum, &e), -errnum, what);
	tap_int(e.code, -errnum, "  code");
	tap_str(e.what, what, "  what");
	tap_str(e.hint, hint, "  hint");
}

static void words(void)
{
	machine_rights(&m, 2, 0, 0);
	says(request("cycles", 0, -1), ENOENT,
	     "cannot open event 'cycles' for this process: No such file or directory",
	     "this machine has no PMU that Linux can use\nuse '-e cpu-clock', which needs no PMU");
	machine_file(&m, "proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu hypervisor lahf_lm\n");
	says(request("cycles:u", -1, 2), EOPNOTSUPP,
	     "cannot open event 'cycles:u' on cpu 2: Operation not supported",
	     "this machine has no PMU that Linux can use: a virtual machine has one only if its "
	"host "
	     "passes it through\nuse '-e cpu-clock', which needs no PMU");
	says(request("cpu-clock", 1234, 2), EACCES,
	     "cannot open event 'cpu-clock' for thread 1234 on cpu 2: Permission denied",
	     "kernel.perf_event_paranoid is 2: without CAP_PERFMON only user code may be sampled\n"
	     "record user code only (--user, or ':u' after the event), or get CAP_PERFMON (root "
	     "has it), or allow it for all users: sysctl kernel.perf_event_paranoid=1");
	says(request("cs", 0, -1), EACCES,
	     "cannot open event 'context-switches' for this process: Permission denied",
	     "kernel.perf_event_paranoid is 2: without CAP_PERFMON only user code may be sampled\n"
	     "get CAP_PERFMON (root has it), or allow it for all users: sysctl "
	     "kernel.perf_event_paranoid=1");
	says(request("cpu-clock:u", -1, 0), EACCES,
	     "cannot open event 'cpu-clock:u' on cpu 0: Permission denied",
	     "kernel.perf_event_paranoid is 2: without CAP_PERFMON whole CPUs and cgroups may not "
	     "be sampled\nrecord processes of your own (--scope task), or get CAP_PERFMON (root "
	     "has it), or allow it for all users: sysctl kernel.perf_event_paranoid=0");
	machine_rights(&m, 3, 0, 0);
	says(request("cpu-clock:u", 0, -1), EACCES,
	     "cannot open event 'cpu-clock:u' for this process: Permission denied",
	     "kernel.perf_event_paranoid is 3: some kernels then allow no sampling without "
	     "CAP_SYS_ADMIN (2 allows user code of your own processes, 1 also their kernel side, 0 "
	     "whole CPUs)\nget CAP_SYS_ADMIN (root has it), or allow it for all users: sysctl "
	     "kernel.perf_event_paranoid=2");
	says(request("cpu-clock", 0, -1), EACCES,
	     "cannot open event 'cpu-clock' for this process: Permission denied",
	     "kernel.perf_event_paranoid is 3: some kernels then allow no sampling without "
	     "CAP_SYS_ADMIN (2 allows user code of your own processes, 1 also their kernel side, 0 "
	     "whole CPUs)\nget CAP_SYS_ADMIN (root has it), or allow it for all users: sysctl "
	     "kernel.perf_event_paranoid=1");
	machine_rights(&m, 3, PERFMON, 0);
	says(request("cpu-clock:u", 0, -1), EACCES,
	     "cannot open event 'cpu-clock:u' for this process: Permission denied",
	     "kernel.perf_event_paranoid is 3: CAP_PERFMON is not enough for this kernel then\n"
	     "get CAP_SYS_ADMIN (root has it), or make CAP_PERFMON count: sysctl "
	     "kernel.perf_event_paranoid=2");
	says(request("cpu-clock", 0, -1), EACCES,
	     "cannot open event 'cpu-clock' for this process: Permission denied",
	     "kernel.perf_event_paranoid is 3: CAP_PERFMON is not enough for this kernel then\n"
	     "get CAP_SYS_ADMIN (root has it), or make CAP_PERFMON count: sysctl "
	     "kernel.perf_event_paranoid=2");
	machine_rights(&m, 2, PERFMON, 2);
	machine_file(&m, "proc/self/uid_map", "0 1000 1\n");
	says(request("cpu-clock:k", 0, -1), EACCES,
	     "cannot open event 'cpu-clock:k' for this process: Permission denied",
	     "kernel.perf_event_paranoid is 2: without CAP_PERFMON only user code may be sampled\n"
	     "get CAP_PERFMON outside of this user namespace (inside, it does not count), or "
	     "allow it for all users: sysctl kernel.perf_event_paranoid=1");
	says(request("cpu-clock", 0, -1), EPERM,
	     "cannot open event 'cpu-clock' for this process: Operation not permitted",
	     "a seccomp filter, as containers have, forbids perf_event_open\nstart the container "
	"with "
	     "'--cap-add PERFMON', or with a seccomp profile that allows perf_event_open "
	     "(--security-opt seccomp=PROFILE); without CAP_PERFMON, a sysctl must allow it, too: "
	     "sysctl kernel.perf_event_paranoid=1");
	machine_file(&m, "proc/self/uid_map", "0 0 4294967295\n");
	machine_rights(&m, 1, 0, 0);
	says(request("cpu-clock", 77, -1), EACCES,
	     "cannot open event 'cpu-clock' for thread 77: Permission denied",
	     "thread 77 belongs to user 33\nrun cprof as that user, or get CAP_PERFMON "
	     "(CAP_SYS_PTRACE before Linux 5.9; root has both)");
	says(request("cpu-clock", 78, -1), EACCES,
	     "cannot open event 'cpu-clock' for thread 78: Permission denied",
	     "thread 78 is yours, but may not be inspected (set-user-id, file capabilities, or it "
	     "made itself undumpable)\nget CAP_PERFMON (CAP_SYS_PTRACE before Linux 5.9; root has "
	     "both)");
	says(request("cpu-clock/freq=70000/", 0, -1), EINVAL,
	     "cannot open event 'cpu-clock' for this process: Invalid argument",
	     "70000 Hz is above kernel.perf_event_max_sample_rate, 50000\nuse a lower rate, or "
	     "'max'");
	says(request("cpu-clock", 0, -1), E2BIG,
	     "cannot open event 'cpu-clock' for this process: Argument list too long",
	     "this kernel, 5.10.0-test, does not know part of the request; -v shows it");
	says(request("cpu-clock", 0, -1), ENFILE,
	     "cannot open event 'cpu-clock' for this process: Too many open files in system",
	     "all processes together have too many files open: the limit is 1000\nrecord "
	     "fewer events, threads or CPUs, or raise the limit: sysctl fs.file-max=1000000");
	says(request("cpu-clock", 80, -1), ESRCH,
	     "cannot open event 'cpu-clock' for thread 80: No such process",
	     "there is no such process or thread; it may have ended, or /proc is not mounted");
	says(request("cpu-clock", -1, 3), ENODEV,
	     "cannot open event 'cpu-clock' on cpu 3: No such device", "cpu 3 is not online");
	says(request("cpu-clock", 0, -1), EINTR,
	     "cannot open event 'cpu-clock' for this process: Interrupted system call",
	     "a signal interrupted each of many attempts\nrecord again: a timer of this process "
	     "that fires all the time would explain it");
	says(request("cycles", 0, -1), EBUSY,
	     "cannot open event 'cycles' for this process: Device or resource busy",
	     "the PMU's counters are in use\nstop other profilers, or record fewer events at once");
	machine_file(&m, "proc/sys/kernel/nmi_watchdog", "1\n");
	says(request("cycles", 0, -1), EBUSY,
	     "cannot open event 'cycles' for this process: Device or resource busy",
	     "the PMU's counters are in use\nstop other profilers, or record fewer events at "
	     "once, or free the counter that the NMI watchdog holds: sysctl "
	     "kernel.nmi_watchdog=0");
	struct evcause_request r = *request("cycles", 0, -1);
	attr.sample_max_stack = 200;
	says(&r, EOVERFLOW,
	     "cannot open event 'cycles' for this process: Value too large for defined data type",
	     "stacks of 200 frames were requested, kernel.perf_event_max_stack is 127\nrequest "
	     "127 or less");
	r = *request("cycles", 9, 1);
	r.flags = PERF_FLAG_PID_CGROUP;
	r.spec = NULL;
	says(&r, ENOSYS, "cannot open the side-band event for the cgroup on cpu 1: Function not "
	     "implemented",
	     "this kernel was built without CONFIG_PERF_EVENTS, or a seccomp filter hides "
	     "perf_event_open\nboot a kernel with CONFIG_PERF_EVENTS=y");
	tap_int(evexplain_set(&m.host, &r, EBUSY, NULL), -EBUSY, "the message may be omitted");
}

static void file_limit(void)
{
	struct rlimit old, soft;
	char hint[300];
	if (getrlimit(RLIMIT_NOFILE, &old) || old.rlim_max < 100) {
		tap_skip("limit of open files", "the hard limit is too low");
		return;
	}
	soft = (struct rlimit){ 99, old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &soft);
	snprintf(hint, sizeof(hint), "this process may open only 99 files\nrecord fewer events, "
		 "threads or CPUs, or raise the limit: ulimit -n %llu",
		 (unsigned long long)old.rlim_max);
	says(request("cpu-clock", 0, -1), EMFILE,
	     "cannot open event 'cpu-clock' for this process: Too many open files", hint);
	setrlimit(RLIMIT_NOFILE, &old);
}

int main(void)
{
	machine_open(&m);
	permission();
	event();
	kinds();
	limits();
	words();
	file_limit();
	machine_close(&m);
	return tap_done();
}
