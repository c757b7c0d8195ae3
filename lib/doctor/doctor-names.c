/* Where names come from, and the environment of this process: container, filters, modules. */
#include "doctor/doctor.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names ------------------------------------------------------------------------ */

/* Does kallsyms show addresses?  Reads only its beginning. */
static int kernel_shows(const struct host *h)
{
	char text[4096];
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_PROC, O_RDONLY, "kallsyms");
	if (fd < 0)
		return fd;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return n < 0 ? -errno : -ENOENT;
	text[n] = '\0';
	/* Per-CPU symbols are at 0 and a little above: one higher address is enough. */
	for (char *line = text; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strtoull(line, NULL, 16) >= 1u << 20)
			return 1;
	}
	return 0;
}

static void find_kernel_names(struct cprof_doctor *d)
{
	long restrict_level = 0;
	struct cprof_finding *f = doctor_find(d, "names", "kernel-names", "Kernel functions",
					      "%s", "");
	int shows = kernel_shows(d->host);
	host_read_long(d->host, HOST_PROC, &restrict_level, "sys/kernel/kptr_restrict");
	if (shows == 1) {
		doctor_worse(f, CPROF_FINDING_OK, "have names (kernel.kptr_restrict is %ld)",
			     restrict_level);
		return;
	}
	if (shows < 0) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "have no names: /proc/kallsyms: %s",
			     strerror(-shows));
		if (shows == -ENOENT)
			doctor_remedy(f, CPROF_REMEDY_BOOT, "boot a kernel with CONFIG_KALLSYMS=y");
		return;
	}
	doctor_worse(f, CPROF_FINDING_LIMITED, "have no names: /proc/kallsyms shows no addresses, "
		     "kernel.kptr_restrict is %ld, kernel.perf_event_paranoid %ld", restrict_level,
		     d->rights.paranoid);
	if (restrict_level < 2)
		doctor_remedy_capability(d, f, "cap_syslog");
	if (restrict_level == 0)
		doctor_remedy(f, CPROF_REMEDY_SYSCTL, "sudo sysctl kernel.perf_event_paranoid=1");
	else
		doctor_remedy(f, CPROF_REMEDY_SYSCTL,
			      "sudo sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1");
}

static void find_debug_files(struct cprof_doctor *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	struct cprof_finding *f = doctor_find(d, "names", "debug-files", "Debug files", "%s", "");
	CLEANUP_CLOSE int dir = host_open_file(d->host, HOST_ROOT, O_PATH | O_DIRECTORY,
					       "usr/lib/debug/.build-id");
	if (dir >= 0)
		doctor_worse(f, CPROF_FINDING_OK,
			     "installed below /usr/lib/debug");
	else
		doctor_worse(f, CPROF_FINDING_OK, "none installed below /usr/lib/debug: stripped "
			     "files have the names of their dynamic symbols only, unless their "
			     "distribution's -dbg, -dbgsym or -debuginfo package is installed");
	if (urls && *urls)
		doctor_worse(f, CPROF_FINDING_OK, "DEBUGINFOD_URLS is set: cprof record "
			     "--debuginfod fetches what is missing");
	else
		doctor_worse(f, CPROF_FINDING_OK, "DEBUGINFOD_URLS is not set: where it names "
			     "servers, cprof record --debuginfod fetches what is missing");
}

static void find_ptrace(struct cprof_doctor *d)
{
	long scope = 0;
	struct cprof_finding *f = doctor_find(d, "names", "other-processes", "Processes of -p",
					      "%s", "");
	host_read_long(d->host, HOST_PROC, &scope, "sys/kernel/yama/ptrace_scope");
	if (d->rights.ptrace && d->rights.perfmon && d->nothing_works) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "none can be recorded: see 'Own processes'");
		return;
	}
	if (d->rights.ptrace && d->rights.perfmon) {
		doctor_worse(f, CPROF_FINDING_OK, "those of all users can be recorded");
		return;
	}
	doctor_worse(f, CPROF_FINDING_LIMITED, "only those of this user can be recorded");
	if (scope > 0 && !d->rights.ptrace)
		doctor_worse(f, CPROF_FINDING_LIMITED, "kernel.yama.ptrace_scope is %ld: their "
			     "memory cannot be read, so the labels that they set (cprof-labels(7)) "
			     "are missing, and stacks longer than their copy stay incomplete",
			     scope);
	doctor_remedy(f, CPROF_REMEDY_OPTION, "run cprof as the user of the process%s",
		      scope > 0 ? ", and with --call-graph dwarf,65528" : "");
	doctor_remedy_capability(d, f, "cap_perfmon,cap_sys_ptrace");
	if (scope > 0 && !d->rights.ptrace)
		doctor_remedy(f, CPROF_REMEDY_SYSCTL, "sudo sysctl kernel.yama.ptrace_scope=0 "
			      "(for the memory only)");
}

void doctor_names(struct cprof_doctor *d)
{
	find_kernel_names(d);
	find_debug_files(d);
	find_ptrace(d);
}

/* ---- the machine -------------------------------------------------------------------- */

static bool has_file(const struct host *h, const char *path)
{
	CLEANUP_CLOSE int fd = host_open_file(h, HOST_ROOT, O_PATH, "%s", path);
	return fd >= 0;
}

static void find_container(struct cprof_doctor *d)
{
	const char *kind = has_file(d->host, ".dockerenv") ? "Docker"
			   : has_file(d->host, "run/.containerenv") ? "Podman"
			   : getenv("KUBERNETES_SERVICE_HOST") ? "Kubernetes" : NULL;
	struct cprof_finding *f = doctor_find(d, "machine", "container", "Container", "%s",
					      kind ? kind : "none detected");
	if (d->rights.lost_in_ns)
		doctor_worse(f, CPROF_FINDING_LIMITED, "capabilities of this user namespace do "
			     "not count for perf events");
	if (d->rights.seccomp)
		doctor_worse(f, CPROF_FINDING_OK, "a seccomp filter is installed");
}

static void find_security(struct cprof_doctor *d)
{
	CLEANUP_FREE char *lockdown = NULL, *modules = NULL;
	struct cprof_finding *f = doctor_find(d, "machine", "security", "Security", "%s", "");
	if (host_read_file(d->host, HOST_SYS, &lockdown, NULL, "kernel/security/lockdown") < 0) {
		doctor_worse(f, CPROF_FINDING_OK, "lockdown unknown");
	} else if (strstr(lockdown, "[confidentiality]")) {
		doctor_worse(f, CPROF_FINDING_LIMITED, "locked down for confidentiality: no "
			     "tracepoints, probes and kernel registers");
		doctor_remedy(f, CPROF_REMEDY_BOOT, "boot without lockdown=confidentiality");
	} else {
		doctor_worse(f, CPROF_FINDING_OK, "not locked down for confidentiality");
	}
	if (host_read_file(d->host, HOST_SYS, &modules, NULL, "kernel/security/lsm") == 0)
		doctor_worse(f, CPROF_FINDING_OK, "modules: %.*s", (int)strcspn(modules, "\n"),
			     modules);
	doctor_worse(f, CPROF_FINDING_OK, "kernel.perf_event_paranoid is %ld, %s CAP_PERFMON",
		     d->rights.paranoid, d->rights.perfmon ? "with" : "without");
}

void doctor_machine(struct cprof_doctor *d)
{
	find_container(d);
	find_security(d);
}
