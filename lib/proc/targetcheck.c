#include "proc/targetcheck.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* The value of "KEY:" in /proc/PID/status, or -1. */
static long status_field(const char *status, const char *key)
{
	const char *p = strstr(status, key);
	long value;
	return p && sscanf(p + strlen(key), "%ld", &value) == 1 ? value : -1;
}

/* 'R', 'S', ...; 0: unknown. */
static char state_of(const char *status)
{
	const char *p = strstr(status, "\nState:\t");
	return p ? p[8] : 0;
}

/* PF_KTHREAD of the kernel's include/linux/sched.h, in field 9 of /proc/PID/stat (proc(5)). */
static bool is_kernel_thread(const struct host *h, pid_t id)
{
	const unsigned flag_kthread = 0x00200000u;
	CLEANUP_FREE char *stat = NULL;
	if (host_read_process_file(h, (uint32_t)id, "stat", &stat, NULL) < 0)
		return false;
	/* The name in parentheses may hold anything, so search from its end. */
	const char *rest = strrchr(stat, ')');
	unsigned flags;
	return rest && sscanf(rest + 1, " %*c %*d %*d %*d %*d %*d %u", &flags) == 1 &&
	       flags & flag_kthread;
}

int targetcheck(const struct host *h, pid_t id, bool is_thread, struct err *e)
{
	const char *what = is_thread ? "thread" : "process";
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(h, HOST_PROC, &status, NULL, "%d/status", id) < 0) {
		err_errno(e, ESRCH, "no %s %d", what, id);
		err_hint(e, "it may have ended, be hidden (hidepid), or belong to another pid "
			    "namespace; see 'ps -e%s'",
			 is_thread ? "L" : "");
		return -ESRCH;
	}
	char state = state_of(status);
	long leader = status_field(status, "\nTgid:");
	/* A main thread that has ended looks like a zombie while other threads go on. */
	bool others = !is_thread && status_field(status, "\nThreads:") > 1;
	if ((state == 'Z' || state == 'X') && !others) {
		err_set(e, EINVAL, "%s %d is a zombie: it has ended, and its parent %ld has not "
			"waited for it yet", what, id, status_field(status, "\nPPid:"));
		return -EINVAL;
	}
	if (!is_thread && leader > 0 && leader != id) {
		err_set(e, EINVAL, "%d is a thread of process %ld, not a process", id, leader);
		err_hint(e, "use -t %d for that thread alone, or -p %ld for its process", id,
			 leader);
		return -EINVAL;
	}
	return is_kernel_thread(h, id) ? TARGETCHECK_KERNEL : TARGETCHECK_USER;
}

bool targetcheck_is_stopped(const struct host *h, pid_t id)
{
	CLEANUP_FREE char *status = NULL;
	if (host_read_file(h, HOST_PROC, &status, NULL, "%d/status", id) < 0)
		return false;
	char state = state_of(status);
	return state == 'T' || state == 't';
}

const char *targetcheck_privilege(const char *path)
{
	struct stat st;
	if (stat(path, &st) < 0)
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return "is set-user-ID";
	if (st.st_mode & S_ISGID && st.st_gid != getegid())
		return "is set-group-ID";
	if (getxattr(path, "security.capability", NULL, 0) > 0)
		return "has capabilities";
	return access(path, R_OK) < 0 ? "may not be read" : NULL;
}
