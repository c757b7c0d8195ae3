/* The examination of machines that are files, and of kernels that a function simulates. */
#include "cprof-doctor.h"

#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <stdint.h>

#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

/* What the kernel refuses. */
static struct {
	int always;        /* errno of all; 0: none */
	int kernel_side;   /* of events with the kernel's side */
	int all_tasks;     /* of events of a whole CPU */
	int no_pmu;        /* of events of the PMU */
	int stacks;        /* of copies of the stack */
} kernel;

static int play(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	(void)cpu, (void)group, (void)flags;
	bool software = a->type == PERF_TYPE_SOFTWARE;
	errno = kernel.always;
	if (errno)
		return -1;
	errno = kernel.kernel_side;
	if (errno && !a->exclude_kernel)
		return -1;
	errno = kernel.all_tasks;
	if (errno && pid < 0)
		return -1;
	errno = kernel.no_pmu;
	if (errno && (a->type == PERF_TYPE_HARDWARE || a->type == PERF_TYPE_HW_CACHE))
		return -1;
	errno = kernel.stacks;
	if (errno && a->sample_stack_user)
		return -1;
	if (!software)
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	/* A file that maps as a ring. */
	char path[] = "/tmp/cprof-ring-XXXXXX";
	int fd = mkstemp(path);
	if (fd >= 0) {
		unlink(path);
		if (ftruncate(fd, 8 << 20) < 0)
			return -1;
	}
	return fd;
}

static struct machine m;
static struct cprof_doctor *doctor;

static void examine(pid_t pid)
{
	struct err e = { 0 };
	const struct cprof_doctor_options o = {
		.host = &m.host, .perf_event_open = play, .program = "/opt/cprof", .pid = pid,
	};
	cprof_doctor_free(doctor);
	doctor = NULL;
	if (cprof_doctor_new(&o, &doctor, &e) < 0)
		tap_ok(false, "examined: %s", e.what);
}

static const struct cprof_finding *find(const char *id)
{
	static const struct cprof_finding none = { .what = "(not found)" };
	const struct cprof_finding *f;
	for (size_t i = 0; doctor && (f = cprof_doctor_finding(doctor, i)); i++)
		if (strcmp(f->id, id) == 0)
			return f;
	return &none;
}

/* One finding: its state, a part of its words, and its remedies, one per line. */
static void is(const char *id, enum cprof_finding_state state, const char *says,
	       const char *remedies)
{
	char text[2000] = "";
	const struct cprof_finding *f = find(id);
	for (size_t i = 0; i < f->n_remedies; i++) {
		size_t n = strlen(text);
		snprintf(text + n, sizeof(text) - n, "%s%s: %s", i ? "\n" : "",
			 cprof_remedy_kind_name(f->remedy[i].kind), f->remedy[i].text);
	}
	tap_int(f->state, state, id);
	if (!tap_ok(strstr(f->what, says) != NULL, "  says '%s'", says))
		printf("# got %s\n", f->what);
	if (remedies)
		tap_str(text, remedies, "  remedies");
}

static void rights(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.kernel_side = kernel.all_tasks = EACCES;
	examine(0);
	is("own-code", CPROF_FINDING_OK, "can be sampled", "");
	is("kernel-code", CPROF_FINDING_LIMITED, "kernel.perf_event_paranoid is 2",
	   "option: record user code only (--user, or ':u' after the event)\n"
	   "capability: sudo setcap cap_perfmon+ep /opt/cprof\n"
	   "sysctl: sudo sysctl kernel.perf_event_paranoid=1");
	is("whole-cpus", CPROF_FINDING_LIMITED, "less than a period are not seen",
	   "option: record processes of your own (--scope task)\n"
	   "capability: sudo setcap cap_perfmon+ep /opt/cprof\n"
	   "sysctl: sudo sysctl kernel.perf_event_paranoid=0");
	is("uprobes", CPROF_FINDING_LIMITED, "this kernel has none", NULL);
	tap_ok(!find("process")->id, "no process was requested");

	machine_rights(&m, 4, 0, 0);
	kernel.always = EACCES;
	examine(0);
	is("own-code", CPROF_FINDING_NO, "allow no sampling",
	   "capability: get CAP_SYS_ADMIN (root has it)\n"
	   "sysctl: sudo sysctl kernel.perf_event_paranoid=2");
	tap_ok(find("own-code")->essential, "  which is essential");
	is("kernel-code", CPROF_FINDING_NO, "allow no sampling",
	   "capability: get CAP_SYS_ADMIN (root has it)\n"
	   "capability: sudo sysctl kernel.perf_event_paranoid=2 && "
	   "sudo setcap cap_perfmon+ep /opt/cprof\n"
	   "sysctl: sudo sysctl kernel.perf_event_paranoid=1");
	is("other-processes", CPROF_FINDING_LIMITED, "of this user",
	   "option: run cprof as the user of the process\n"
	   "capability: sudo sysctl kernel.perf_event_paranoid=2 && "
	   "sudo setcap cap_perfmon,cap_sys_ptrace+ep /opt/cprof");
	machine_rights(&m, 3, 1ull << 38 | 1ull << 19, 0);
	examine(0);
	is("whole-cpus", CPROF_FINDING_NO, "CAP_PERFMON is not enough",
	   "capability: get CAP_SYS_ADMIN (root has it)\n"
	   "sysctl: sudo sysctl kernel.perf_event_paranoid=2");
	is("other-processes", CPROF_FINDING_LIMITED, "see 'Own processes'", "");
	machine_file(&m, "sys/bus/event_source/devices/uprobe/type", "9\n");
	examine(0);
	is("uprobes", CPROF_FINDING_LIMITED, "see 'Own processes'", "");
	machine_file(&m, "sys/bus/event_source/devices/uprobe/type", NULL);

	machine_rights(&m, 1, 0, 2);
	kernel.always = EPERM;
	examine(0);
	is("own-code", CPROF_FINDING_NO, "seccomp filter",
	   "container: start the container with '--cap-add PERFMON', or with a seccomp profile "
	   "that allows perf_event_open (--security-opt seccomp=PROFILE)");
	is("container", CPROF_FINDING_OK, "a seccomp filter is installed", "");

	machine_rights(&m, 1, 0, 0);
	machine_file(&m, "sys/kernel/security/lockdown", "none integrity [confidentiality]\n");
	examine(0);
	is("own-code", CPROF_FINDING_NO, "locked down",
	   "boot: boot without lockdown=confidentiality");
	is("security", CPROF_FINDING_LIMITED, "locked down", NULL);
	machine_file(&m, "sys/kernel/security/lockdown", NULL);
	kernel.always = ENOSYS;
	examine(0);
	is("own-code", CPROF_FINDING_NO, "CONFIG_PERF_EVENTS",
	   "boot: boot a kernel with CONFIG_PERF_EVENTS=y");
	kernel.always = EMFILE;
	examine(0);
	is("own-code", CPROF_FINDING_NO, "may open only", NULL);
	tap_int(find("own-code")->remedy[1].kind, CPROF_REMEDY_RLIMIT, "  the limit can be raised");
	machine_file(&m, "proc/self/uid_map", "0 1000 1\n");
	machine_rights(&m, 2, 1ull << 38, 0);
	kernel.always = 0;
	examine(0);
	is("container", CPROF_FINDING_LIMITED, "user namespace do not count", "");
	tap_ok(strstr(find("kernel-code")->remedy[1].text, "outside of this user namespace"),
	       "capabilities must come from outside the namespace");
	machine_file(&m, "proc/self/uid_map", "0 0 4294967295\n");
	machine_rights(&m, 2, 0, 0);
}

static void events(void)
{
	memset(&kernel, 0, sizeof(kernel));
	kernel.no_pmu = ENOENT;
	examine(0);
	is("pmu", CPROF_FINDING_LIMITED, "there is no PMU", NULL);
	tap_int(find("pmu")->remedy[0].kind, CPROF_REMEDY_OPTION, "  a clock first");
	tap_int(find("pmu")->remedy[1].kind, CPROF_REMEDY_BOOT, "  the hypervisor last");
	tap_ok(strstr(find("pmu")->what, "software"), "  the PMUs of the machine");
	is("software", CPROF_FINDING_OK, "can be sampled", "");
	is("tracepoints", CPROF_FINDING_LIMITED, "not mounted",
	   "mount: sudo mount -t tracefs nodev /sys/kernel/tracing");
	machine_file(&m, "sys/kernel/tracing/events/sched/sched_switch/id", "314\n");
	examine(0);
	is("tracepoints", CPROF_FINDING_OK, "can be sampled", "");
	is("breakpoints", CPROF_FINDING_OK, "can be sampled", "");
	is("cfi", CPROF_FINDING_OK, "work", "");
	kernel.stacks = EINVAL;
	examine(0);
	is("cfi", CPROF_FINDING_LIMITED, "Invalid argument",
	   "option: cprof record --call-graph fp");
	kernel.stacks = 0;
}

static void limits(void)
{
	memset(&kernel, 0, sizeof(kernel));
	examine(0);
	is("max-rate", CPROF_FINDING_OK, "50000 Hz", "");
	machine_file(&m, "proc/sys/kernel/perf_event_max_sample_rate", "700\n");
	machine_file(&m, "proc/sys/kernel/perf_cpu_time_max_percent", "1\n");
	machine_file(&m, "proc/sys/kernel/perf_event_max_stack", "16\n");
	examine(0);
	is("max-rate", CPROF_FINDING_LIMITED, "700 Hz",
	   "option: cprof record -F max: the highest rate allowed\n"
	   "sysctl: sudo sysctl kernel.perf_event_max_sample_rate=100000");
	is("cpu-time", CPROF_FINDING_LIMITED, "at most 1 %",
	   "sysctl: sudo sysctl kernel.perf_cpu_time_max_percent=25");
	is("frame-pointers", CPROF_FINDING_LIMITED, "at most 16 frames",
	   "option: cprof record --call-graph dwarf, whose user stacks have no such limit\n"
	   "sysctl: sudo sysctl kernel.perf_event_max_stack=127");
	machine_file(&m, "proc/sys/kernel/perf_event_max_stack", "127\n");
	is("locked-memory", CPROF_FINDING_OK, "lock", "");
}

static void names(void)
{
	examine(0);
	is("kernel-names", CPROF_FINDING_LIMITED, "No such file",
	   "boot: boot a kernel with CONFIG_KALLSYMS=y");
	machine_file(&m, "proc/sys/kernel/kptr_restrict", "1\n");
	machine_file(&m, "proc/kallsyms", "0000000000000000 T _text\n0000000000000000 T start\n");
	examine(0);
	is("kernel-names", CPROF_FINDING_LIMITED, "kernel.kptr_restrict is 1",
	   "capability: sudo setcap cap_syslog+ep /opt/cprof\n"
	   "sysctl: sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
	machine_file(&m, "proc/kallsyms",
		     "0000000000000000 A fixed\nffffffff81000000 T _text\n");
	examine(0);
	is("kernel-names", CPROF_FINDING_OK, "have names", "");
	machine_file(&m, "proc/sys/kernel/yama/ptrace_scope", "1\n");
	examine(0);
	is("other-processes", CPROF_FINDING_LIMITED, "ptrace_scope is 1", NULL);
	machine_rights(&m, 2, 1ull << 38 | 1ull << 19, 0);
	examine(0);
	is("other-processes", CPROF_FINDING_OK, "all users", "");
	machine_rights(&m, 2, 0, 0);
}

static void process(void)
{
	struct err e = { 0 };
	struct cprof_doctor *none = NULL;
	const struct cprof_doctor_options o = {
		.host = &m.host, .perf_event_open = play, .pid = 4242,
	};
	tap_int(cprof_doctor_new(&o, &none, &e), -ESRCH, "a process that does not exist");
	tap_ok(strstr(e.what, "4242") != NULL, "  is named");
	machine_file(&m, "proc/78/status",
		     "Name:\tmine\nState:\tS (sleeping)\nTgid:\t78\n"
		     "Uid:\t1000\t1000\t1000\t1000\n");
	machine_file(&m, "proc/78/stat", "78 (mine) S 1 78 78 0 -1 4194304 0 0\n");
	machine_file(&m, "proc/78/task/78/stat", "78 (mine) S\n");
	machine_file(&m, "proc/78/maps", "");
	examine(78);
	is("process", CPROF_FINDING_OK, "78, with 1 thread; can be sampled", "");
	is("process-files", CPROF_FINDING_LIMITED, "/proc/78/mem", NULL);
	tap_int((long long)find("process-files")->n_remedies, 1, "  one remedy, listed once");
	kernel.always = EACCES;
	examine(78);
	is("process", CPROF_FINDING_NO, "Permission denied", NULL);
	kernel.always = 0;
}

static void order(void)
{
	const struct cprof_finding *f;
	bool sorted = true, said = true;
	kernel.kernel_side = kernel.all_tasks = EACCES;
	kernel.no_pmu = ENOENT;
	examine(0);
	for (size_t i = 0; doctor && (f = cprof_doctor_finding(doctor, i)); i++) {
		for (size_t k = 1; k < f->n_remedies; k++)
			sorted &= f->remedy[k - 1].kind <= f->remedy[k].kind;
		said &= f->what[0] && f->title[0] && f->group[0];
	}
	tap_ok(sorted, "the weakest remedy comes first, always");
	tap_ok(said, "each finding has words");
}

int main(void)
{
	machine_open(&m);
	rights();
	events();
	limits();
	names();
	process();
	order();
	cprof_doctor_free(doctor);
	machine_close(&m);
	return tap_done();
}
