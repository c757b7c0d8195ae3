/*
 * The kernel's records do not name users, so /proc/PID/status does, while the process lives.  A
 * process that ended before its first sample was read counts as another user's, unless the caller
 * has started it.
 */

#include "proc/owners.h"

#include "base/cleanup.h"
#include "base/host.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

void owners_init(struct owners *o, const struct host *host)
{
	*o = (struct owners){ .host = host, .uid = getuid() };
}

/* The real and the effective user count; PROCS_OWNER_UNREAD: the process has ended. */
static enum procs_owner owner_of(const struct owners *o, uint32_t pid)
{
	CLEANUP_FREE char *status = NULL;
	unsigned uid, euid;
	if (host_read_file(o->host, HOST_PROC, &status, NULL, "%u/status", pid) < 0)
		return PROCS_OWNER_UNREAD;
	const char *ids = strstr(status, "\nUid:");
	if (!ids || sscanf(ids + 5, "%u %u", &uid, &euid) != 2)
		return PROCS_OWNER_UNREAD;
	return uid == o->uid && euid == o->uid ? PROCS_OWNER_CALLER : PROCS_OWNER_OTHER;
}

void owners_read(struct owners *o, struct procs_process *p)
{
	p->owner = PROCS_OWNER_CALLER;
	/* The kernel's name for a task that has no ids any more. */
	if (!o->host || p->pid == UINT32_MAX)
		return;
	p->owner = owner_of(o, p->pid);
	if (p->owner == PROCS_OWNER_UNREAD)
		p->owner = o->unknown_is_own ? PROCS_OWNER_CALLER : PROCS_OWNER_OTHER;
}

void owners_check(struct owners *o, const struct procs *p)
{
	for (size_t i = 0; i < p->n_processes && o->host && !o->any_other; i++) {
		const struct procs_process *proc = p->process[i];
		if (proc->owner == PROCS_OWNER_CALLER && !proc->exited)
			o->any_other = owner_of(o, proc->pid) == PROCS_OWNER_OTHER;
	}
}
