#include "snapshot/refusal.h"

#include "base/err.h"
#include "proc/memoryrights.h"
#include "snapshot/snapshot.h"
#include "snapshot/threadscan.h"

#include <errno.h>

static int explain_silence(const struct host *h, uint32_t pid, struct err *e)
{
	struct memoryrights other;
	memoryrights_read(h, pid, &other);
	err_set(e, ETIMEDOUT, "process %u '%s' does not answer", pid, other.name);
	err_hint(e, "it waits for a file system, which does not answer either (FUSE), while it "
		 "executes a program or changes its mappings");
	return -ETIMEDOUT;
}

int refusal_explain(const struct host *h, uint32_t pid, int code, bool needs_files, struct err *e)
{
	struct memoryrights other;
	if (code == -ETIMEDOUT)
		return explain_silence(h, pid, e);
	memoryrights_read(h, pid, &other);
	if (other.uid == UINT32_MAX)
		return err_set(e, ESRCH, "process %u has ended", pid);
	err_set(e, EACCES, "process %u '%s' may not be read", pid, other.name);
	memoryrights_hint(h, pid, &other, needs_files, e);
	return -EACCES;
}

static bool has_ended(const struct threadscan *scan, const struct threadscan_process *p)
{
	for (size_t i = p->first; i < p->first + p->n; i++)
		if (scan->threads.v[i].look != THREADSCAN_ENDED)
			return false;
	return true;
}

/* Its threads have ended, but it has others: it has executed other programs all the time. */
static bool lives_on(const struct host *h, const struct threadscan_process *p)
{
	struct memoryrights other;
	memoryrights_read(h, p->pid, &other);
	return other.uid != UINT32_MAX;
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
	const struct threadscan_process *denied = NULL, *kernel = NULL;
	for (size_t i = 0; i < scan->processes.n; i++) {
		const struct threadscan_process *p = &scan->processes.v[i];
		if (p->n && scan->threads.v[p->first].stat.is_kernel) {
			kernel = p;
			continue;
		}
		if (has_ended(scan, p) ? lives_on(h, p) : !is_denied(scan, p))
			return 0;
		if (!denied && !has_ended(scan, p))
			denied = p;
	}
	if (denied)
		return refusal_explain(h, denied->pid,
				       is_silent(scan, denied) ? -ETIMEDOUT : -EACCES, true, e);
	if (s->entries.n || s->n_short)
		return 0;
	if (kernel)
		return err_set(e, EOPNOTSUPP, "process %u '%s' is a thread of the kernel, which "
			       "executes no user code", kernel->pid,
			       scan->threads.v[kernel->first].stat.name);
	if (scan->processes.n == 1)
		return err_set(e, ESRCH, "process %u has ended", scan->processes.v[0].pid);
	return err_set(e, ESRCH, "the processes have ended");
}
