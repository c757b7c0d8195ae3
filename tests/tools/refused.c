/*
 * cprof on another machine: linked with --wrap=cprof_recorder_new_sized.  Everything between the
 * command line and the message is real; only the kernel's answer is not.
 *
 *	REFUSED_MACHINE=DIR   /proc and /sys are DIR/proc and DIR/sys
 *	REFUSED_ERRNO=N       perf_event_open(2) fails with it, except for the events of rings
 *	REFUSED_FIELD=NAME    ... only if this field of the attr is set
 *	REFUSED_MEMBERS=1     ... only for events that join a group
 *
 * `cprof-refused --table PID` runs a whole table of such cases (refused-table.c).
 */
#include "refused.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "base/host.h"
#include "cprof.h"
#include "recorder/machine.h"

#define RING_FILE_BYTES (16 << 20)
#define KNOWN_BYTES 72  /* PERF_ATTR_SIZE_VER1: the size of the attr in an old kernel */

int __real_cprof_recorder_new_sized(const struct cprof_config *config, size_t n_bytes,
				    struct cprof_recorder **ret_recorder, struct err *e);
int __wrap_cprof_recorder_new_sized(const struct cprof_config *config, size_t n_bytes,
				    struct cprof_recorder **ret_recorder, struct err *e);

static bool has_field(const struct perf_event_attr *a, const char *name)
{
	return !name || (strcmp(name, "precise_ip") == 0 && a->precise_ip) ||
	       (strcmp(name, "exclude_kernel") == 0 && a->exclude_kernel) ||
	       (strcmp(name, "sample_freq") == 0 && a->sample_freq) ||
	       (strcmp(name, "config") == 0 && a->config) ||
	       (strcmp(name, "sample_stack_user") == 0 && a->sample_stack_user);
}

static int refuse(struct perf_event_attr *a, pid_t pid, int cpu, int group, unsigned long flags)
{
	(void)pid, (void)cpu, (void)flags;
	int errnum = atoi(getenv("REFUSED_ERRNO"));
	bool dummy = a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_DUMMY;
	bool spared = dummy || (getenv("REFUSED_MEMBERS") && group < 0);
	if (!spared && has_field(a, getenv("REFUSED_FIELD"))) {
		if (errnum == E2BIG)
			a->size = KNOWN_BYTES;
		errno = errnum;
		return -1;
	}
	/* It can be mapped like a ring. */
	int fd = memfd_create("ring", MFD_CLOEXEC);
	if (fd >= 0 && ftruncate(fd, RING_FILE_BYTES) < 0)
		return -1;
	return fd;
}

/* ioctl(2) of an event that was not refused. */
int __real_ioctl(int fd, unsigned long request, ...);
int __wrap_ioctl(int fd, unsigned long request, ...);

int __wrap_ioctl(int fd, unsigned long request, ...)
{
	static uint64_t last_id;
	va_list ap;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (request == PERF_EVENT_IOC_ID)
		*(uint64_t *)arg = ++last_id;
	else if (request != PERF_EVENT_IOC_SET_OUTPUT)
		return __real_ioctl(fd, request, arg);
	return 0;
}

static void show_process(const char *machine, pid_t pid)
{
	char from[64], to[512];
	snprintf(from, sizeof(from), "/proc/%d", (int)pid);
	snprintf(to, sizeof(to), "%s/proc/%d", machine, (int)pid);
	if (symlink(from, to) < 0 && errno != EEXIST)
		perror(to);
}

int __wrap_cprof_recorder_new_sized(const struct cprof_config *config, size_t n_bytes,
				    struct cprof_recorder **ret_recorder, struct err *e)
{
	static struct host host;
	struct cprof_config c = *config;
	const char *machine = getenv("REFUSED_MACHINE");
	char proc[512], sys[512];
	snprintf(proc, sizeof(proc), "%s/proc", machine);
	snprintf(sys, sizeof(sys), "%s/sys", machine);
	int code = host_open(&host, NULL, proc, sys, e);
	if (code < 0)
		return code;
	for (size_t i = 0; i < c.n_pids; i++)
		show_process(machine, c.pid[i]);
	if (c.command_pid)
		show_process(machine, c.command_pid);
	const struct cprof_machine refusing = { &host, refuse };
	c.machine = &refusing;
	return __real_cprof_recorder_new_sized(&c, n_bytes, ret_recorder, e);
}

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);

int refused_cprof(int argc, char **argv)
{
	return __real_main(argc, argv);
}

int __wrap_main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--table") == 0)
		return refused_table(argv[2]);
	return refused_cprof(argc, argv);
}
