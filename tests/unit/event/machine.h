#ifndef CPROF_TESTS_UNIT_EVENT_MACHINE_H
#define CPROF_TESTS_UNIT_EVENT_MACHINE_H

/* A machine made of files: /proc and /sys in a folder of its own, for struct host. */

#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/host.h"

struct machine {
	char dir[128];
	struct host host;
};

/* Writes a file of the machine ("proc/self/status"), and the folders above it.  An empty text makes
 * an empty file, NULL removes it. */
static inline void machine_file(const struct machine *m, const char *path, const char *text)
{
	char full[PATH_MAX];
	snprintf(full, sizeof(full), "%s/%s", m->dir, path);
	if (!text) {
		unlink(full);
		return;
	}
	for (char *slash = full + strlen(m->dir) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	FILE *f = fopen(full, "w");
	if (!f || fputs(text, f) < 0 || fclose(f)) {
		perror(full);
		exit(1);
	}
}

/* Sets the rights of this process on the machine. */
static inline void machine_rights(const struct machine *m, int paranoid, unsigned long long caps,
				  int seccomp)
{
	char text[300];
	snprintf(text, sizeof(text), "%d\n", paranoid);
	machine_file(m, "proc/sys/kernel/perf_event_paranoid", text);
	snprintf(text, sizeof(text),
		 "Name:\tcprof\nUid:\t1000\t1000\t1000\t1000\nCapInh:\t0000000000000000\n"
		 "CapEff:\t%016llx\nNoNewPrivs:\t0\nSeccomp:\t%d\nSeccomp_filters:\t0\n", caps,
		 seccomp);
	machine_file(m, "proc/self/status", text);
}

/* A machine without PMU, CPUs 0-2 and 4, an unprivileged user 1000, paranoid 2. */
static inline void machine_open(struct machine *m)
{
	snprintf(m->dir, sizeof(m->dir), "/tmp/cprof-machine-XXXXXX");
	if (!mkdtemp(m->dir)) {
		perror(m->dir);
		exit(1);
	}
	machine_rights(m, 2, 0, 0);
	machine_file(m, "proc/self/uid_map", "         0          0 4294967295\n");
	machine_file(m, "proc/sys/kernel/perf_event_max_sample_rate", "50000\n");
	machine_file(m, "proc/sys/kernel/perf_event_max_stack", "127\n");
	machine_file(m, "proc/sys/kernel/nmi_watchdog", "0\n");
	machine_file(m, "proc/sys/kernel/osrelease", "5.10.0-test\n");
	machine_file(m, "proc/sys/fs/file-max", "1000\n");
	machine_file(m, "proc/77/status", "Name:\tother\nUid:\t33\t33\t33\t33\n");
	machine_file(m, "proc/78/status", "Name:\tmine\nUid:\t1000\t1000\t1000\t1000\n");
	machine_file(m, "sys/bus/event_source/devices/software/type", "1\n");
	machine_file(m, "sys/bus/event_source/devices/uncore_imc/cpumask", "0\n");
	machine_file(m, "sys/devices/system/cpu/online", "0-2,4\n");
	char proc[160], sys[160];
	snprintf(proc, sizeof(proc), "%s/proc", m->dir);
	snprintf(sys, sizeof(sys), "%s/sys", m->dir);
	if (host_open(&m->host, m->dir, proc, sys, NULL) < 0) {
		perror("host_open");
		exit(1);
	}
}

static inline int machine_remove(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
	(void)st, (void)flag, (void)ftw;
	return remove(path);
}

static inline void machine_close(struct machine *m)
{
	host_close(&m->host);
	nftw(m->dir, machine_remove, 16, FTW_DEPTH | FTW_PHYS);
}

#endif
