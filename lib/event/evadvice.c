/*
 * Remedies are ordered by reach: a smaller request, a right for this process, a setting of the
 * whole machine.  Most rows are constant text.  A row whose text depends on the request or the
 * machine has a function, which runs first; the row's own remedies follow.
 */
#include "event/evadvice.h"

#include "base/cleanup.h"
#include "base/host.h"
#include "base/units.h"
#include "event/evfield.h"
#include "event/evspec.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct context {
	const struct host *host;
	const struct evcause_request *request;
	enum evcause cause;
	struct evcause_rights rights;
	long paranoid_needed;
	struct evadvice *advice;
};

struct remedy {
	enum cprof_remedy_kind kind;
	const char *words, *command;
	bool only_doctor;
};

struct row {
	const char *brief, *reason;
	void (*explain)(struct context *c);
	struct remedy remedy[2];
};

#define OPTION CPROF_REMEDY_OPTION
#define RLIMIT CPROF_REMEDY_RLIMIT
#define CAPABILITY CPROF_REMEDY_CAPABILITY
#define CONTAINER CPROF_REMEDY_CONTAINER
#define SYSCTL CPROF_REMEDY_SYSCTL
#define BOOT CPROF_REMEDY_BOOT

/* ---- parts ------------------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
add_reason(struct context *c, const char *fmt, ...)
{
	char *text = c->advice->reason;
	size_t n = strlen(text);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text + n, sizeof(c->advice->reason) - n, fmt, ap);
	va_end(ap);
}

/* A remedy without a command; the caller may add one. */
static struct evadvice_remedy *__attribute__((format(printf, 3, 4)))
add_remedy(struct context *c, enum cprof_remedy_kind kind, const char *fmt, ...)
{
	struct evadvice_remedy *r = &c->advice->remedy[c->advice->n_remedies++];
	va_list ap;
	*r = (struct evadvice_remedy){ .kind = kind };
	va_start(ap, fmt);
	vsnprintf(r->words, sizeof(r->words), fmt, ap);
	va_end(ap);
	return r;
}

static void __attribute__((format(printf, 2, 3)))
set_command(struct evadvice_remedy *r, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(r->command, sizeof(r->command), fmt, ap);
	va_end(ap);
}

/* In a virtual machine?  x86 kernels list it as a feature of the CPU. */
static bool in_virtual_machine(const struct host *h)
{
	char text[4096];  /* the first CPU's block */
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "cpuinfo");
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return false;
	text[n] = '\0';
	return strstr(text, " hypervisor") != NULL;
}

static void add_kernel_release(struct context *c, const char *text)
{
	CLEANUP_FREE char *release = NULL;
	if (host_read_file(c->host, HOST_PROC, &release, NULL, "sys/kernel/osrelease") == 0)
		add_reason(c, "this kernel, %.*s, %s", (int)strcspn(release, "\n"), release, text);
	else
		add_reason(c, "this kernel %s", text);
}

/* ---- PMUs ---------------------------------------------------------------------------- */

static void explain_no_pmu(struct context *c)
{
	add_reason(c, "this machine has no PMU that Linux can use");
	if (in_virtual_machine(c->host))
		add_reason(c, ": a virtual machine has one only if its host passes it through");
}

static void explain_no_interrupt(struct context *c)
{
	struct evcause_unit u;
	evcause_unit(c->host, c->request->attr->type, &u);
	if (!u.name[0]) {
		add_reason(c, "this machine's PMU counts, but does not interrupt, so it cannot "
			   "sample");
		add_remedy(c, OPTION, "use '-e cpu-clock', which needs no PMU");
		return;
	}
	add_reason(c, "PMU '%s' counts, but cannot sample", u.name);
	if (u.only_cpus)
		add_reason(c, ", and only whole CPUs, not processes");
	if (c->request->spec)
		add_remedy(c, OPTION, "read it at the samples of an event that can: "
			   "-e '{cpu-clock,%s}:S'%s", c->request->spec->name,
			   u.only_cpus ? " --scope cpu" : "");
}

static void explain_only_cpus(struct context *c)
{
	struct evcause_unit u;
	evcause_unit(c->host, c->request->attr->type, &u);
	add_reason(c, "PMU '%s' counts whole CPUs, and cannot be bound to a process or thread",
		   u.name);
}

static void explain_raw_code(struct context *c)
{
	add_reason(c, "this machine's PMU refuses the code 0x%llx",
		   (unsigned long long)c->request->attr->config);
}

static void explain_busy(struct context *c)
{
	long on;
	add_remedy(c, OPTION, "stop other profilers, or record fewer events at once");
	if (host_read_long(c->host, HOST_PROC, &on, "sys/kernel/nmi_watchdog") == 0 && on)
		set_command(add_remedy(c, SYSCTL, "free the counter that the NMI watchdog holds"),
			"sysctl kernel.nmi_watchdog=0");
}

/* ---- permission ---------------------------------------------------------------------- */

static struct evadvice_remedy *add_capability(struct context *c)
{
	struct evadvice_remedy *r = add_remedy(c, CAPABILITY, "%s", c->rights.lost_in_ns
		? "get CAP_PERFMON outside of this user namespace (inside, it does not count)"
		: "get CAP_PERFMON (root has it)");
	set_command(r, "cap_perfmon");
	return r;
}

/* Without a command: a file with this capability would make everyone root. */
static void add_admin(struct context *c)
{
	add_remedy(c, CAPABILITY, "%s", c->rights.lost_in_ns
		   ? "get CAP_SYS_ADMIN outside of this user namespace (inside, it does not count)"
		   : "get CAP_SYS_ADMIN (root has it)");
}

static struct evadvice_remedy *add_sysctl(struct context *c, const char *words)
{
	struct evadvice_remedy *r = add_remedy(c, SYSCTL, "%s", words);
	set_command(r, "sysctl kernel.perf_event_paranoid=%ld", c->paranoid_needed);
	return r;
}

static void explain_probe(struct context *c)
{
	add_capability(c);
}

static void explain_paranoid(struct context *c)
{
	bool counts = c->request->counts;
	const char *sampled = counts ? "counted" : "sampled";
	const struct evspec *s = c->request->spec;
	bool can_drop_kernel = !s || !(s->only_kernel || evspec_in_kernel(s));
	if (c->rights.perfmon) {
		add_reason(c, "kernel.perf_event_paranoid is %ld: CAP_PERFMON is not enough for "
			   "this kernel then", c->rights.paranoid);
		add_admin(c);
		set_command(add_remedy(c, SYSCTL, "make CAP_PERFMON count"),
			    "sysctl kernel.perf_event_paranoid=2");
		return;
	}
	if (c->cause == EVCAUSE_PARANOID_ALL) {
		add_reason(c, "kernel.perf_event_paranoid is %ld: some kernels then allow no "
			   "sampling without CAP_SYS_ADMIN (2 allows user code of your own "
			   "processes, 1 also their kernel side, 0 whole CPUs)",
			   c->rights.paranoid);
		add_admin(c);
		if (c->paranoid_needed < 2)
			add_capability(c)->only_doctor = true;
		add_sysctl(c, "allow it for all users");
		return;
	}
	add_reason(c, "kernel.perf_event_paranoid is %ld: without CAP_PERFMON ",
		   c->rights.paranoid);
	switch (c->cause) {
	case EVCAUSE_PARANOID_TRACE:
		add_reason(c, "tracepoints do not show their data");
		break;
	case EVCAUSE_PARANOID_CPU:
		add_reason(c, "whole CPUs and cgroups may not be %s", sampled);
		add_remedy(c, OPTION, counts ?
			   "count processes of your own (-p, or a command)" :
			   "record processes of your own (--scope task)");
		break;
	default:
		add_reason(c, "only user code may be %s", sampled);
		if (can_drop_kernel && c->request->attr->type != PERF_TYPE_TRACEPOINT)
			add_remedy(c, OPTION, "%s user code only (--user, or ':u' after the event)",
				   counts ? "count" : "record");
		break;
	}
	add_capability(c);
	add_sysctl(c, "allow it for all users");
}

static void explain_other_user(struct context *c)
{
	int pid = (int)c->request->pid;
	long user = evcause_user_of(c->host, pid);
	if (c->cause == EVCAUSE_NOT_DUMPABLE)
		add_reason(c, "thread %d is yours, but may not be inspected (set-user-id, file "
			   "capabilities, or it made itself undumpable)", pid);
	else if (user >= 0)
		add_reason(c, "thread %d belongs to user %ld", pid, user);
	else
		add_reason(c, "thread %d belongs to another user", pid);
	if (c->cause == EVCAUSE_OTHER_USER)
		add_remedy(c, OPTION, "run cprof as that user");
	set_command(add_remedy(c, CAPABILITY, "get CAP_PERFMON (CAP_SYS_PTRACE before Linux 5.9; "
			       "root has both)"), "cap_perfmon,cap_sys_ptrace");
}

static void explain_seccomp(struct context *c)
{
	add_remedy(c, CONTAINER, "start the container with '--cap-add PERFMON', or with a seccomp "
		   "profile that allows perf_event_open (--security-opt seccomp=PROFILE)");
	if (!c->rights.perfmon && c->rights.paranoid > c->paranoid_needed)
		add_sysctl(c, "without CAP_PERFMON, a sysctl must allow it, too")->also = true;
}

static void explain_security(struct context *c)
{
	CLEANUP_FREE char *modules = NULL;
	add_reason(c, "neither kernel.perf_event_paranoid nor capabilities explain it: a security "
		   "module (SELinux, AppArmor) may forbid perf events");
	if (host_read_file(c->host, HOST_SYS, &modules, NULL, "kernel/security/lsm") == 0)
		add_reason(c, "; active are: %.*s", (int)strcspn(modules, "\n"), modules);
}

/* ---- limits -------------------------------------------------------------------------- */

static void explain_files_process(struct context *c)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return;
	add_reason(c, "this process may open only %llu file%s", (unsigned long long)limit.rlim_cur,
		   units_s(limit.rlim_cur));
	add_remedy(c, OPTION, "record fewer events, threads or CPUs");
	if (limit.rlim_cur < limit.rlim_max)
		set_command(add_remedy(c, RLIMIT, "raise the limit"), "ulimit -n %llu",
			(unsigned long long)limit.rlim_max);
	else
		add_remedy(c, RLIMIT, "let root raise the limit, which is the hard one "
			   "(limits.conf(5), LimitNOFILE= in a service)");
}

static void explain_files_system(struct context *c)
{
	long n;
	add_reason(c, "all processes together have too many files open");
	if (host_read_long(c->host, HOST_PROC, &n, "sys/fs/file-max") == 0)
		add_reason(c, ": the limit is %ld", n);
}

static void explain_rate(struct context *c)
{
	add_reason(c, "%llu Hz is above kernel.perf_event_max_sample_rate, %ld",
		   (unsigned long long)c->request->attr->sample_freq, evcause_max_rate_hz(c->host));
}

static void explain_max_stack(struct context *c)
{
	long n;
	add_reason(c, "stacks of %u frames were requested", c->request->attr->sample_max_stack);
	if (host_read_long(c->host, HOST_PROC, &n, "sys/kernel/perf_event_max_stack") < 0)
		return;
	add_reason(c, ", kernel.perf_event_max_stack is %ld", n);
	add_remedy(c, OPTION, "request %ld or less", n);
}

static void explain_cpu_offline(struct context *c)
{
	add_reason(c, "cpu %d is not online", c->request->cpu);
}

/* ---- the request --------------------------------------------------------------------- */

static void explain_bits(struct context *c)
{
	add_kernel_release(c, "does not know part of the request; -v shows it");
}

/* How to leave out the field, or change it; NULL: unknown. */
static const char *field_remedy(const char *field)
{
	static const struct { const char *field, *remedy; } table[] = {
		{ "sample_type PERF_SAMPLE_CGROUP", "leave out '--labels cgroup'" },
		{ "cgroup", "leave out '--labels cgroup'" },
		{ "exclude_kernel", "leave out ':u' and --user" },
		{ "exclude_user", "leave out ':k' and --kernel" },
		{ "config", "look its terms up below /sys/bus/event_source/devices/*/format" },
		{ "sample_stack_user", "use '--call-graph dwarf,SIZE' with another size, or fp" },
		{ "sample_regs_user", "use '--call-graph fp'" },
		{ "sample_freq", "use another rate, or a period (-c)" },
		{ "sample_period", "use another period, or a rate (-F)" },
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (strncmp(field, table[i].field, strlen(table[i].field)) == 0)
			return table[i].remedy;
	return NULL;
}

static void explain_field(struct context *c)
{
	const struct evfield *f = c->request->field;
	const char *option = field_remedy(f->name);
	bool is_side = strcmp(f->name, "exclude_kernel") == 0;
	add_reason(c, "the field '%s' is refused", f->name);
	if (f->value > 1)
		add_reason(c, ", which is 0x%" PRIx64, f->value);
	if (is_side && c->request->attr->type > PERF_TYPE_BREAKPOINT)
		add_reason(c, ": this PMU cannot distinguish user code from kernel code");
	if (f->since) {
		add_reason(c, "; it came with Linux %s, and ", f->since);
		add_kernel_release(c, "may be older");
	}
	if (option)
		add_remedy(c, OPTION, "%s", option);
	else
		add_reason(c, "; -v shows the request");
	if (is_side && !c->rights.perfmon && c->rights.paranoid > 1)
		add_remedy(c, SYSCTL, "to record the kernel's side, get CAP_PERFMON or set "
			   "kernel.perf_event_paranoid=1")->also = true;
}

/* ---- the table ----------------------------------------------------------------------- */

#define PASS_PMU_THROUGH \
	"in a virtual machine, let its host pass the PMU through (qemu: -cpu host,pmu=on; " \
	"clouds: larger or bare-metal machines)"

static const struct row table[EVCAUSE_N_CAUSES] = {
	[EVCAUSE_OTHER] = { "cannot be opened" },
	[EVCAUSE_NO_PMU] = { "there is no PMU", .explain = explain_no_pmu, .remedy = {
		{ OPTION, "use '-e cpu-clock', which needs no PMU" },
		{ BOOT, PASS_PMU_THROUGH, .only_doctor = true } } },
	[EVCAUSE_NO_SUCH_EVENT] = { "not on this machine",
		"this machine does not have the event", .remedy = {
		{ OPTION, "look for another one: 'cprof list' shows those of this machine, and the "
		  "CPU's manual may have a raw code for this one" } } },
	[EVCAUSE_NO_INTERRUPT] = { "the PMU cannot interrupt", .explain = explain_no_interrupt,
		.remedy = {
		{ BOOT, PASS_PMU_THROUGH, .only_doctor = true } } },
	[EVCAUSE_ONLY_CPUS] = { "the PMU counts whole CPUs only", .explain = explain_only_cpus,
		.remedy = {
		{ OPTION, "use --scope cpu, which needs CAP_PERFMON or "
		  "kernel.perf_event_paranoid=0" } } },
	[EVCAUSE_NOT_PRECISE] = { "the PMU is not that precise",
		"this machine's PMU cannot place samples that precisely", .remedy = {
		{ OPTION, "leave out a 'p'" } } },
	[EVCAUSE_NO_CALL_STACKS] = { "its calls cannot be recorded",
		"its calls cannot be recorded (--call-graph lbr): that needs an event of a PMU "
		"with LBR call stacks, as in Intel CPUs since Haswell", .remedy = {
		{ OPTION, "use '--call-graph dwarf' or '--call-graph fp'" } } },
	[EVCAUSE_PARANOID_ALL] = { "kernel.perf_event_paranoid is above 2",
		.explain = explain_paranoid },
	[EVCAUSE_PARANOID_KERNEL] = { "kernel.perf_event_paranoid is above 1",
		.explain = explain_paranoid },
	[EVCAUSE_PARANOID_CPU] = { "kernel.perf_event_paranoid is above 0",
		.explain = explain_paranoid },
	[EVCAUSE_PARANOID_TRACE] = { "kernel.perf_event_paranoid is above -1",
		.explain = explain_paranoid },
	[EVCAUSE_PROBE] = { "probes need CAP_PERFMON",
		"probes change code that other processes run, too: no setting of "
		"kernel.perf_event_paranoid allows them", explain_probe },
	[EVCAUSE_OTHER_USER] = { "another user's process", .explain = explain_other_user },
	[EVCAUSE_NOT_DUMPABLE] = { "protected process", .explain = explain_other_user },
	[EVCAUSE_SECCOMP] = { "forbidden by a seccomp filter",
		"a seccomp filter, as containers have, forbids perf_event_open", explain_seccomp },
	[EVCAUSE_LOCKDOWN] = { "the kernel is locked down",
		"the kernel is locked down for confidentiality", .remedy = {
		{ BOOT, "boot without lockdown=confidentiality" } } },
	[EVCAUSE_SECURITY] = { "forbidden by a security module", .explain = explain_security,
		.remedy = {
		{ SYSCTL, "allow perf_event to this program in the module's policy: the kernel's "
		  "log and audit.log name the rule" } } },
	[EVCAUSE_BUSY] = { "counters are in use", "the PMU's counters are in use", explain_busy },
	[EVCAUSE_IN_USE] = { "in use", "the kernel has run out of a resource that this event needs",
		.remedy = {
		{ OPTION, "stop other profilers and tracers, or record fewer events at once" } } },
	[EVCAUSE_BREAKPOINTS] = { "all debug registers are in use",
		"all debug registers of a CPU are in use", .remedy = {
		{ OPTION, "watch fewer addresses, or end the debuggers that watch some" } } },
	[EVCAUSE_FILES_PROCESS] = { "too many open files", .explain = explain_files_process },
	[EVCAUSE_FILES_SYSTEM] = { "too many open files in the system",
		.explain = explain_files_system, .remedy = {
		{ OPTION, "record fewer events, threads or CPUs" },
		{ SYSCTL, "raise the limit", "sysctl fs.file-max=1000000" } } },
	[EVCAUSE_RATE] = { "rate above the kernel's limit", .explain = explain_rate, .remedy = {
		{ OPTION, "use a lower rate, or 'max'" } } },
	[EVCAUSE_RAW_CODE] = { "the PMU refuses this code", .explain = explain_raw_code, .remedy = {
		{ OPTION, "look it up in the CPU's manual, for this exact model" } } },
	[EVCAUSE_FIELD] = { "a part of the request is refused", .explain = explain_field },
	[EVCAUSE_BITS] = { "not known to this kernel", .explain = explain_bits },
	[EVCAUSE_MAX_STACK] = { "stacks too deep", .explain = explain_max_stack },
	[EVCAUSE_NO_TASK] = { "no such process",
		"there is no such process or thread; it may have ended, or /proc is not mounted" },
	[EVCAUSE_CPU_OFFLINE] = { "CPU offline", .explain = explain_cpu_offline },
	[EVCAUSE_NO_SYSCALL] = { "no perf_event_open in this kernel",
		"this kernel was built without CONFIG_PERF_EVENTS, or a seccomp filter hides "
		"perf_event_open", .remedy = {
		{ BOOT, "boot a kernel with CONFIG_PERF_EVENTS=y" } } },
	[EVCAUSE_MEMORY] = { "out of memory", "the kernel has no memory for it", .remedy = {
		{ OPTION, "record fewer events, threads or CPUs" } } },
	[EVCAUSE_SILENT] = { "the process does not answer",
		"the process executes a program and waits for a file system meanwhile, which does "
		"not answer (FUSE)", .remedy = {
		{ OPTION, "record whole CPUs, which needs nothing from it: --scope cpu" } } },
	[EVCAUSE_INTERRUPTED] = { "interrupted by signals",
		"a signal interrupted each of many attempts", .remedy = {
		{ OPTION, "record again: a timer of this process that fires all the time would "
		  "explain it" } } },
};

const char *evadvice_brief(enum evcause cause)
{
	return table[cause].brief;
}

void evadvice_find(const struct host *h, const struct evcause_request *r, enum evcause cause,
		   struct evadvice *ret)
{
	const struct row *row = &table[cause];
	struct context c = {
		.host = h, .request = r, .cause = cause, .advice = ret,
		.paranoid_needed = evcause_paranoid_needed(r),
	};
	evcause_rights(h, &c.rights);
	*ret = (struct evadvice){ .n_remedies = 0 };
	if (row->reason)
		add_reason(&c, "%s", row->reason);
	if (row->explain)
		row->explain(&c);
	for (size_t i = 0; i < sizeof(row->remedy) / sizeof(*row->remedy); i++) {
		const struct remedy *x = &row->remedy[i];
		if (!x->words)
			break;
		struct evadvice_remedy *added = add_remedy(&c, x->kind, "%s", x->words);
		added->only_doctor = x->only_doctor;
		if (x->command)
			set_command(added, "%s", x->command);
	}
}
