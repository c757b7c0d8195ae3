/*
 * The kernel's rules are in __ptrace_may_access (kernel/ptrace.c) and in the security modules that
 * it calls: Yama and the capabilities.  The file "syscall" of a thread is also only for its owner.
 */

#include "snapshot/refusal.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/host.h"
#include "snapshot/snapshot.h"
#include "snapshot/threadscan.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What /proc/PID/status says about the rights of a process. */
struct process_rights {
	uint32_t uid;           /* effective */
	uint64_t permitted, effective;
	char name[64];
};

static void read_rights(const struct host *h, uint32_t pid, struct process_rights *ret)
{
	CLEANUP_FREE char *text = NULL;
	*ret = (struct process_rights){ .uid = UINT32_MAX };
	if (host_read_file(h, HOST_PROC, &text, NULL, "%u/status", pid) < 0)
		return;
	sscanf(text, "Name:\t%63[^\n]", ret->name);
	const char *uid = strstr(text, "\nUid:"), *permitted = strstr(text, "\nCapPrm:");
	const char *effective = strstr(text, "\nCapEff:");
	if (uid)
		sscanf(uid + 5, "%*u %u", &ret->uid);
	if (permitted)
		ret->permitted = strtoull(permitted + 8, NULL, 16);
	if (effective)
		ret->effective = strtoull(effective + 8, NULL, 16);
}

static bool has(const struct process_rights *r, int capability)
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

static void hint(const struct host *h, uint32_t pid, const struct process_rights *own,
		 const struct process_rights *other, struct err *e)
{
	long yama = 0;
	bool is_foreign = own->uid != other->uid;
	if (host_read_long(h, HOST_PROC, &yama, "sys/kernel/yama/ptrace_scope") < 0)
		yama = 0;
	if (is_foreign && has(own, CAP_SYS_PTRACE) && !has(own, CAP_DAC_READ_SEARCH))
		err_hint(e, "it belongs to user %u, and only the owner may open some of its files "
			 "in /proc: grant CAP_DAC_READ_SEARCH in addition to CAP_SYS_PTRACE",
			 other->uid);
	else if (is_foreign && !has(own, CAP_SYS_PTRACE))
		err_hint(e, "it belongs to user %u: run cprof as that user, or grant "
			 "CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH", other->uid);
	else if (is_other_namespace(h, pid))
		err_hint(e, "it is in another user namespace: run cprof there, or grant "
			 "CAP_SYS_PTRACE in it");
	else if (yama == 3)
		hint_yama(yama, e);
	else if (has(own, CAP_SYS_PTRACE))
		err_hint(e, "cprof has CAP_SYS_PTRACE: a security module or a system call filter "
			 "of the container forbids it");
	else if (other->permitted & ~own->permitted)
		err_hint(e, "it has capabilities that cprof does not have: grant CAP_SYS_PTRACE");
	else if (is_closed(h, pid, own->uid))
		err_hint(e, "its memory is closed to other processes of its user: its program "
			 "gives additional rights, may not be read, or has called "
			 "prctl(PR_SET_DUMPABLE); grant CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH");
	else if (yama)
		hint_yama(yama, e);
	else
		err_hint(e, "grant CAP_SYS_PTRACE, or allow process_vm_readv in the container's "
			 "system call filter");
}

static int explain_silence(const struct host *h, uint32_t pid, struct err *e)
{
	struct process_rights other;
	read_rights(h, pid, &other);
	err_set(e, ETIMEDOUT, "process %u '%s' does not answer", pid, other.name);
	err_hint(e, "it waits for a file system, which does not answer either (FUSE), while it "
		 "executes a program or changes its mappings");
	return -ETIMEDOUT;
}

int refusal_explain(const struct host *h, uint32_t pid, int code, struct err *e)
{
	struct process_rights own, other;
	if (code == -ETIMEDOUT)
		return explain_silence(h, pid, e);
	read_rights(h, (uint32_t)getpid(), &own);
	read_rights(h, pid, &other);
	err_set(e, EACCES, "process %u '%s' may not be read", pid, other.name);
	hint(h, pid, &own, &other, e);
	return -EACCES;
}

/* Nothing could be read of it. */
static bool is_denied(const struct threadscan *scan, const struct threadscan_process *p)
{
	bool is_memory = p->code == -EPERM || p->code == -EACCES;
	for (size_t i = p->first; i < p->first + p->n; i++) {
		enum threadscan_look look = scan->threads.v[i].look;
		if (look != THREADSCAN_DENIED && look != THREADSCAN_ENDED &&
		    look != THREADSCAN_UNANSWERED &&
		    !(is_memory && look != THREADSCAN_RUNNING))
			return false;
	}
	return p->n;
}

static bool is_silent(const struct threadscan *scan, const struct threadscan_process *p)
{
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (scan->threads.v[i].look == THREADSCAN_UNANSWERED)
			return true;
	return p->code == -ETIMEDOUT;
}

int refusal_check(const struct snapshot *s, const struct threadscan *scan, const struct host *h,
		  struct err *e)
{
	const struct threadscan_process *denied = NULL;
	for (size_t i = 0; i < scan->processes.n; i++) {
		const struct threadscan_process *p = &scan->processes.v[i];
		if (!is_denied(scan, p))
			return 0;
		denied = denied ? denied : p;
	}
	if (denied)
		return refusal_explain(h, denied->pid,
				       is_silent(scan, denied) ? -ETIMEDOUT : -EACCES, e);
	return s->entries.n || s->n_short ? 0 : err_set(e, ESRCH, "the processes have ended");
}
