/*
 * The kernel's rules are in __ptrace_may_access (kernel/ptrace.c) and in the security modules that
 * it calls: Yama and the capabilities.
 */

#include "proc/memoryrights.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void memoryrights_read(const struct host *h, uint32_t pid, struct memoryrights *ret)
{
	CLEANUP_FREE char *text = NULL;
	*ret = (struct memoryrights){ .uid = UINT32_MAX };
	if (host_read_file(h, HOST_PROC, &text, NULL, "%u/status", pid) < 0)
		return;
	sscanf(text, "Name:\t%63[^\n]", ret->name);
	const char *state = strstr(text, "\nState:\t");
	if (state && (state[8] == 'Z' || state[8] == 'X'))
		return;
	const char *uid = strstr(text, "\nUid:"), *permitted = strstr(text, "\nCapPrm:");
	const char *effective = strstr(text, "\nCapEff:");
	if (uid)
		sscanf(uid + 5, "%*u %u", &ret->uid);
	if (permitted)
		ret->permitted = strtoull(permitted + 8, NULL, 16);
	if (effective)
		ret->effective = strtoull(effective + 8, NULL, 16);
}

static bool has(const struct memoryrights *r, int capability)
{
	return r->effective >> capability & 1;
}

static bool is_other_namespace(const struct host *h, uint32_t pid)
{
	char own[64], other[64];
	return host_read_process_link(h, (uint32_t)getpid(), "ns/user", own, sizeof(own)) > 0 &&
	       host_read_process_link(h, pid, "ns/user", other, sizeof(other)) > 0 &&
	       strcmp(own, other) != 0;
}

/* PROC_USER_INIT_INO of the kernel's include/linux/proc_ns.h. */
#define INITIAL_USER_NAMESPACE "user:[4026531837]"

/* The namespace of a process outside of cprof's own one cannot be read. */
static bool is_confined(const struct host *h, uint32_t pid)
{
	char own[64], other[64];
	return host_read_process_link(h, (uint32_t)getpid(), "ns/user", own, sizeof(own)) > 0 &&
	       strcmp(own, INITIAL_USER_NAMESPACE) != 0 &&
	       host_read_process_link(h, pid, "ns/user", other, sizeof(other)) == -EACCES;
}

/* The files in /proc/PID of a process whose memory is closed belong to root, but not the folder
 * itself (proc(5); task_dump_owner in fs/proc/base.c). */
static bool is_closed(const struct host *h, uint32_t pid, uint32_t uid)
{
	char path[24];
	struct stat st;
	snprintf(path, sizeof(path), "%u/maps", pid);
	return fstatat(h->fd[HOST_PROC], path, &st, 0) == 0 && st.st_uid != uid;
}

static void hint_yama(long scope, struct err *e)
{
	if (scope == 3)
		err_hint(e, "kernel.yama.ptrace_scope is 3: nobody may, until the machine is "
			 "started again with another value");
	else if (scope == 2)
		err_hint(e, "kernel.yama.ptrace_scope is 2: grant CAP_SYS_PTRACE");
	else
		err_hint(e, "kernel.yama.ptrace_scope is 1: only its ancestors may; set it to 0 "
			 "or grant CAP_SYS_PTRACE");
}

void memoryrights_hint(const struct host *h, uint32_t pid, const struct memoryrights *other,
		       bool needs_files, struct err *e)
{
	struct memoryrights own;
	long yama = 0;
	memoryrights_read(h, (uint32_t)getpid(), &own);
	bool is_foreign = own.uid != other->uid;
	const char *grant = needs_files ? "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
					: "CAP_SYS_PTRACE";
	if (host_read_long(h, HOST_PROC, &yama, "sys/kernel/yama/ptrace_scope") < 0)
		yama = 0;
	if (needs_files && is_foreign && has(&own, CAP_SYS_PTRACE) &&
	    !has(&own, CAP_DAC_READ_SEARCH))
		err_hint(e, "it belongs to user %u, and only the owner may open some of its files "
			 "in /proc: grant CAP_DAC_READ_SEARCH in addition to CAP_SYS_PTRACE",
			 other->uid);
	else if (is_foreign && !has(&own, CAP_SYS_PTRACE))
		err_hint(e, "it belongs to user %u: run cprof as that user, or grant %s",
			 other->uid, grant);
	else if (is_other_namespace(h, pid))
		err_hint(e, "it is in another user namespace: run cprof there, or grant "
			 "CAP_SYS_PTRACE in it");
	else if (is_confined(h, pid) && !(other->permitted & ~own.permitted) &&
		 !is_closed(h, pid, own.uid))
		err_hint(e, "cprof is in a user namespace, where its rights end, and the process "
			 "is probably in another one: run cprof outside of it");
	else if (yama == 3)
		hint_yama(yama, e);
	else if (has(&own, CAP_SYS_PTRACE))
		err_hint(e, "cprof has CAP_SYS_PTRACE: a security module or a system call filter "
			 "of the container forbids it");
	else if (other->permitted & ~own.permitted)
		err_hint(e, "it has capabilities that cprof does not have: grant CAP_SYS_PTRACE");
	else if (is_closed(h, pid, own.uid))
		err_hint(e, "its memory is closed to other processes of its user: its program "
			 "gives additional rights, may not be read, or has called "
			 "prctl(PR_SET_DUMPABLE); grant %s", grant);
	else if (yama)
		hint_yama(yama, e);
	else
		err_hint(e, "grant CAP_SYS_PTRACE, or allow process_vm_readv in the container's "
			 "system call filter");
}

int memoryrights_explain(const struct host *h, uint32_t pid, struct err *e)
{
	struct memoryrights other;
	memoryrights_read(h, pid, &other);
	if (other.uid == UINT32_MAX)
		return err_set(e, ESRCH, "it has ended");
	err_set(e, EPERM, "its memory may not be read");
	memoryrights_hint(h, pid, &other, false, e);
	return -EPERM;
}
