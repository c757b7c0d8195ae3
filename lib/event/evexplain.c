/*
 * The first line of a hint says why, the second what to do, the least far-reaching remedy
 * first: to ask for less, then a right for this process, then a setting for the whole machine.
 * Causes that need no numbers have their words in a table.
 */
#include "event/evexplain.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "event/evcause.h"
#include "event/evfield.h"
#include "event/evspec.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const fixed_text[EVCAUSE_N_CAUSES] = {
	[EVCAUSE_OTHER] = "",
	[EVCAUSE_NO_SUCH_EVENT] =
		"this machine does not have the event\n"
		"'cprof list' shows which it has; the CPU's manual may have a raw code for it",
	[EVCAUSE_NOT_PRECISE] =
		"this machine's PMU cannot place samples that precisely\n"
		"leave out a 'p'",
	[EVCAUSE_NO_CALL_STACKS] =
		"its calls cannot be recorded (--call-graph lbr): that takes an event of a PMU "
		"with LBR call stacks, as Intel's have since Haswell\n"
		"use '--call-graph dwarf' or '--call-graph fp'",
	[EVCAUSE_LOCKDOWN] =
		"the kernel is locked down for confidentiality\n"
		"boot without lockdown=confidentiality",
	[EVCAUSE_PROBE] =
		"probes change code that others run, too: kernel.perf_event_paranoid does not open "
		"them\n"
		"get CAP_PERFMON (root has it)",
	[EVCAUSE_IN_USE] =
		"the kernel has no more of what this event needs\n"
		"stop other profilers and tracers, or record fewer events at once",
	[EVCAUSE_BREAKPOINTS] =
		"all debug registers of a CPU are in use\n"
		"watch fewer addresses, or end the debuggers that do",
	[EVCAUSE_NO_TASK] = "there is no such process or thread; it may have ended",
	[EVCAUSE_NO_SYSCALL] =
		"this kernel was built without CONFIG_PERF_EVENTS, or a seccomp filter hides "
		"perf_event_open",
	[EVCAUSE_MEMORY] =
		"the kernel has no memory for it\n"
		"record fewer events, threads or CPUs",
	[EVCAUSE_INTERRUPTED] =
		"a signal interrupted each of many attempts\n"
		"record again; a timer of this process that fires all the time would explain it",
};

/* The text of a hint as it grows. */
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
		t->n = t->n + (size_t)n < sizeof(t->text) ? t->n + (size_t)n
							  : sizeof(t->text) - 1;
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

static void say_no_pmu(struct hint *t, const struct host *h)
{
	say(t, "this machine has no PMU that Linux can use");
	if (in_virtual_machine(h))
		say(t, ": a virtual machine has one only if its host passes it through");
	say(t, "\nuse 'cpu-clock', which needs none");
}

/* A PMU that is not of the cores, and never samples: what to record instead. */
static void say_instead(struct hint *t, const struct evcause_request *r,
			const struct evcause_unit *u)
{
	if (r->spec)
		say(t, "\nread it at the samples of an event that can: -e '{cpu-clock,%s}:S'%s",
		    r->spec->name, u->only_cpus ? " --scope cpu" : "");
}

static void say_no_interrupt(struct hint *t, const struct host *h, const struct evcause_request *r)
{
	struct evcause_unit u;
	evcause_unit(h, r->attr->type, &u);
	if (!u.name[0]) {
		say(t, "this machine's PMU counts, but does not interrupt, so it cannot sample\n"
		    "use 'cpu-clock', which needs no PMU");
		return;
	}
	say(t, "PMU '%s' counts, but cannot sample", u.name);
	if (u.only_cpus)
		say(t, ", and only whole CPUs, not processes");
	say_instead(t, r, &u);
}

static void say_only_cpus(struct hint *t, const struct host *h, const struct evcause_request *r)
{
	struct evcause_unit u;
	evcause_unit(h, r->attr->type, &u);
	say(t, "PMU '%s' counts whole CPUs, and cannot be bound to a process or thread\n"
	    "use --scope cpu, which takes CAP_PERFMON or kernel.perf_event_paranoid=0", u.name);
}

static void say_paranoid(struct hint *t, const struct host *h, const struct evcause_request *r,
			 enum evcause cause)
{
	struct evcause_rights own;
	evcause_rights(h, &own);
	say(t, "kernel.perf_event_paranoid is %ld: without CAP_PERFMON ", own.paranoid);
	if (cause == EVCAUSE_PARANOID_ALL)
		say(t, "this kernel lets nothing be sampled\n");
	else if (cause == EVCAUSE_PARANOID_TRACE)
		say(t, "tracepoints do not show their data\n");
	else if (cause == EVCAUSE_PARANOID_CPU)
		say(t, "no whole CPU or cgroup may be sampled\nrecord processes of your own, or ");
	else
		say(t, "only user code may be sampled\n");
	if (cause == EVCAUSE_PARANOID_KERNEL && r->spec && !r->spec->only_kernel &&
	    !evspec_in_kernel(r->spec))
		say(t, "ask for user code only (':u', --user), or ");
	say(t, "%s, or allow it to all users: sysctl kernel.perf_event_paranoid=%ld",
	    own.lost_in_ns ? "get CAP_PERFMON outside of this user namespace (inside, it does not "
			     "count)"
			   : "get CAP_PERFMON (root has it)",
	    evcause_paranoid_needed(r));
	if (cause == EVCAUSE_PARANOID_ALL)
		say(t, " (2: user code of own processes, 1: their kernel side too, 0: whole CPUs)");
}

static void say_other_user(struct hint *t, const struct host *h, pid_t pid, enum evcause cause)
{
	long user = evcause_user_of(h, pid);
	if (cause == EVCAUSE_NOT_DUMPABLE)
		say(t, "thread %d is yours, but may not be looked into (set-user-id, file "
		    "capabilities, or made undumpable by itself)\nrun cprof", (int)pid);
	else if (user >= 0)
		say(t, "thread %d belongs to user %ld\nrun cprof as that user, or", (int)pid, user);
	else
		say(t, "thread %d belongs to another user\nrun cprof as that user, or", (int)pid);
	say(t, " with CAP_PERFMON (before Linux 5.9 CAP_SYS_PTRACE), or as root");
}

static void say_seccomp(struct hint *t, const struct host *h, const struct evcause_request *r)
{
	struct evcause_rights own;
	long needed = evcause_paranoid_needed(r);
	evcause_rights(h, &own);
	say(t, "a seccomp filter, as containers have, forbids perf_event_open\n"
	    "start the container with '--cap-add PERFMON', or with a seccomp profile that allows "
	    "perf_event_open");
	if (!own.perfmon && own.paranoid > needed)
		say(t, "; without CAP_PERFMON it also takes kernel.perf_event_paranoid=%ld "
		    "(now %ld)", needed, own.paranoid);
}

static void say_security(struct hint *t, const struct host *h)
{
	CLEANUP_FREE char *modules = NULL;
	say(t, "neither kernel.perf_event_paranoid nor capabilities explain it: a security module "
	    "(SELinux, AppArmor) may forbid perf events");
	if (host_read_file(h, HOST_SYS, &modules, NULL, "kernel/security/lsm") == 0)
		say(t, "; active are: %.*s", (int)strcspn(modules, "\n"), modules);
	say(t, "\nthe kernel's log and audit.log name the rule");
}

static void say_busy(struct hint *t, const struct host *h)
{
	long on;
	say(t, "the PMU's counters are in use\n"
	    "stop other profilers, or record fewer events at once");
	if (host_read_long(h, HOST_PROC, &on, "sys/kernel/nmi_watchdog") == 0 && on == 1)
		say(t, "; the NMI watchdog holds one counter: sysctl kernel.nmi_watchdog=0");
}

static void say_files_process(struct hint *t)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	say(t, "this process may have %llu files open\n"
	    "record fewer events, threads or CPUs, or raise the limit: ",
	    (unsigned long long)limit.rlim_cur);
	if (limit.rlim_cur < limit.rlim_max)
		say(t, "ulimit -n %llu", (unsigned long long)limit.rlim_max);
	else
		say(t, "it stands at its hard limit, which root may raise (limits.conf(5), "
		    "LimitNOFILE= in a service)");
}

static void say_files_system(struct hint *t, const struct host *h)
{
	long n;
	say(t, "all processes together have too many files open\n");
	if (host_read_long(h, HOST_PROC, &n, "sys/fs/file-max") == 0)
		say(t, "the limit is %ld; ", n);
	say(t, "record fewer events, threads or CPUs, or raise sysctl fs.file-max");
}

static void say_kernel(struct hint *t, const struct host *h, const char *text)
{
	CLEANUP_FREE char *release = NULL;
	if (host_read_file(h, HOST_PROC, &release, NULL, "sys/kernel/osrelease") == 0)
		say(t, "this kernel, %.*s, %s", (int)strcspn(release, "\n"), release, text);
	else
		say(t, "this kernel %s", text);
}

static void say_bits(struct hint *t, const struct host *h)
{
	say_kernel(t, h, "does not know a part of the request\n-v shows the request");
}

/* What of the request set the field. */
static const char *remedy_of(const char *field)
{
	static const struct { const char *field, *remedy; } table[] = {
		{ "sample_type PERF_SAMPLE_CGROUP", "leave out '--labels cgroup'" },
		{ "cgroup", "leave out '--labels cgroup'" },
		{ "exclude_kernel", "leave out ':u' and --user" },
		{ "exclude_user", "leave out ':k' and --kernel" },
		{ "config", "look its terms up below /sys/bus/event_source/devices/*/format" },
		{ "sample_stack_user", "use '--call-graph dwarf,SIZE' with another size, or fp" },
		{ "sample_regs_user", "use '--call-graph fp'" },
		{ "sample_freq", "ask for another rate, or for a period (-c)" },
		{ "sample_period", "ask for another period, or for a rate (-F)" },
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strncmp(field, table[i].field, strlen(table[i].field)) == 0)
			return table[i].remedy;
	return "-v shows the request";
}

/* May this process sample user code only? */
static bool only_user_allowed(const struct host *h)
{
	struct evcause_rights own;
	evcause_rights(h, &own);
	return !own.perfmon && own.paranoid > 1;
}

static void say_field(struct hint *t, const struct host *h, const struct evcause_request *r)
{
	const struct evfield *f = r->field;
	say(t, "the field '%s' is refused", f->name);
	if (f->value > 1)
		say(t, ", which is 0x%" PRIx64, f->value);
	if (strcmp(f->name, "exclude_kernel") == 0 && r->attr->type > PERF_TYPE_BREAKPOINT)
		say(t, ": this PMU cannot tell user code from the kernel's");
	say(t, "\n%s", remedy_of(f->name));
	if (strcmp(f->name, "exclude_kernel") == 0 && only_user_allowed(h))
		say(t, "; the kernel's side takes CAP_PERFMON or kernel.perf_event_paranoid=1");
	if (f->since) {
		say(t, "; it came with Linux %s: ", f->since);
		say_kernel(t, h, "may be older");
	}
}

static void say_max_stack(struct hint *t, const struct host *h, unsigned n_frames)
{
	long n;
	say(t, "stacks of %u frames were asked for", n_frames);
	if (host_read_long(h, HOST_PROC, &n, "sys/kernel/perf_event_max_stack") == 0)
		say(t, ", kernel.perf_event_max_stack is %ld\nask for %ld or less", n, n);
}

static void say_cause(struct hint *t, const struct host *h, const struct evcause_request *r,
		      enum evcause cause)
{
	switch (cause) {
	case EVCAUSE_NO_PMU:
		say_no_pmu(t, h);
		break;
	case EVCAUSE_NO_INTERRUPT:
		say_no_interrupt(t, h, r);
		break;
	case EVCAUSE_ONLY_CPUS:
		say_only_cpus(t, h, r);
		break;
	case EVCAUSE_PARANOID_ALL:
	case EVCAUSE_PARANOID_KERNEL:
	case EVCAUSE_PARANOID_CPU:
	case EVCAUSE_PARANOID_TRACE:
		say_paranoid(t, h, r, cause);
		break;
	case EVCAUSE_OTHER_USER:
	case EVCAUSE_NOT_DUMPABLE:
		say_other_user(t, h, r->pid, cause);
		break;
	case EVCAUSE_SECCOMP:
		say_seccomp(t, h, r);
		break;
	case EVCAUSE_SECURITY:
		say_security(t, h);
		break;
	case EVCAUSE_BUSY:
		say_busy(t, h);
		break;
	case EVCAUSE_FILES_PROCESS:
		say_files_process(t);
		break;
	case EVCAUSE_FILES_SYSTEM:
		say_files_system(t, h);
		break;
	case EVCAUSE_RATE:
		say(t, "%llu Hz is above kernel.perf_event_max_sample_rate, %ld\n"
		    "ask for less, or for 'max'", (unsigned long long)r->attr->sample_freq,
		    evcause_max_rate_hz(h));
		break;
	case EVCAUSE_RAW_CODE:
		say(t, "this machine's PMU refuses the code 0x%llx\n"
		    "look it up in the CPU's manual, for this very model",
		    (unsigned long long)r->attr->config);
		break;
	case EVCAUSE_FIELD:
		say_field(t, h, r);
		break;
	case EVCAUSE_BITS:
		say_bits(t, h);
		break;
	case EVCAUSE_MAX_STACK:
		say_max_stack(t, h, r->attr->sample_max_stack);
		break;
	case EVCAUSE_CPU_OFFLINE:
		say(t, "cpu %d is not online", r->cpu);
		break;
	default:
		say(t, "%s", fixed_text[cause]);
		break;
	}
}

int evexplain_set(const struct host *h, const struct evcause_request *r, int errnum,
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
	say_cause(&t, h, r, evcause_find(h, r, errnum));
	err_hint(e, "%s", t.text);
	return -errnum;
}
