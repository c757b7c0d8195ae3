/* A target may create threads faster than events are opened on them, so the number of scans is
 * bounded. */

#include "source/live/livescan.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "source/synth.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SCANS_MAX 50

/* Records of the birth of younger threads may not be read yet. */
#define UNREAD_NS 1000000000u

bool livescan_has(const struct livescan *k, pid_t tid)
{
	for (size_t i = k->seen.n; i-- > 0;)
		if (k->seen.v[i] == tid)
			return true;
	return false;
}

static int add_process(struct livescan *k, pid_t pid)
{
	for (size_t i = 0; i < k->pids.n; i++)
		if (k->pids.v[i] == pid)
			return 0;
	return VEC_PUSH(&k->pids, pid) ? 1 : -ENOMEM;
}

/* Was the process or thread created after a time (CLOCK_BOOTTIME), by its start time (field 22 of
 * proc_pid_stat(5), in ticks)? */
static bool is_born_later(const struct livescan *k, pid_t pid, uint64_t since_ns)
{
	CLEANUP_FREE char *text = NULL;
	if (host_read_process_file(k->options->open.host, (uint32_t)pid, "stat", &text, NULL) < 0)
		return false;
	/* The second field is the name in parentheses and may hold anything. */
	const char *p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	uint64_t tick_ns = CLOCK_SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK);
	return p && strtoull(p, NULL, 10) >= since_ns / tick_ns;
}

/* Adds the children that a thread has created: their FORK records may not be read yet.  Children
 * that are older than the events are processes of their own.  Returns their number; 0 also if the
 * kernel lists none (CONFIG_PROC_CHILDREN). */
static int add_children(struct livescan *k, pid_t pid, pid_t tid)
{
	CLEANUP_FREE char *text = NULL;
	int n = 0, r;
	if (host_read_file(k->options->open.host, HOST_PROC, &text, NULL, "%d/task/%d/children",
			   (int)pid, (int)tid) < 0)
		return 0;
	for (char *p = text, *end;; p = end) {
		long child = strtol(p, &end, 10);
		if (end == p || child <= 0)
			return n;
		r = is_born_later(k, (pid_t)child, k->since_ns) ? add_process(k, (pid_t)child) : 0;
		if (r < 0)
			return r;
		n += r;
	}
}

static bool is_target(const struct livescan *k, pid_t pid, pid_t tid)
{
	const struct live_options *o = k->options;
	return !o->is_target || o->is_target(o->processes_ctx, pid, tid);
}

/* Returns 1 if the thread is new. */
static int open_thread(struct livescan *k, pid_t pid, pid_t tid, bool is_late, struct err *e)
{
	struct livescan_thread t = { tid, is_late, false };
	if (livescan_has(k, tid))
		return 0;
	if (!VEC_PUSH(&k->seen, tid))
		return err_errno(e, ENOMEM, "cannot list threads");
	if (!is_target(k, pid, tid)) {
		uint64_t now_ns = clock_now_ns(CLOCK_BOOTTIME);
		if (!is_born_later(k, tid, now_ns > UNREAD_NS ? now_ns - UNREAD_NS : 0))
			return 0;
		t.is_unproven = true;
	}
	int r = k->open(k->ctx, &t, e);
	return r < 0 && r != -ESRCH ? r : 1;
}

/* One scan; returns the number of threads and processes that are new. */
static int scan_processes(struct livescan *k, bool is_late, struct err *e)
{
	int n_new = 0;
	for (size_t i = 0; i < k->pids.n; i++) {
		CLEANUP_FREE pid_t *tids = NULL;
		int n = synth_list(k->options->open.host, k->pids.v[i], &tids);
		for (int t = 0; t < n; t++) {
			int r = open_thread(k, k->pids.v[i], tids[t], is_late, e);
			if (r < 0)
				return r;
			n_new += r;
			r = is_target(k, k->pids.v[i], tids[t]) ?
				    add_children(k, k->pids.v[i], tids[t]) : 0;
			if (r < 0)
				return err_errno(e, -r, "cannot list processes");
			n_new += r;
		}
	}
	return n_new;
}

int livescan_run(struct livescan *k, struct err *e)
{
	CLEANUP_FREE pid_t *pids = NULL;
	int n = k->options->processes(k->options->processes_ctx, &pids);
	if (n < 0)
		return err_errno(e, -n, "cannot list processes");
	for (int i = 0; i < n; i++)
		if (add_process(k, pids[i]) < 0)
			return err_errno(e, ENOMEM, "cannot list processes");
	for (int scan = 0; scan < SCANS_MAX; scan++) {
		int n_new = scan_processes(k, scan > 0, e);
		if (n_new <= 0)
			return n_new;
	}
	return err_set(e, EAGAIN, "threads are created faster than events are opened");
}

void livescan_done(struct livescan *k)
{
	VEC_FREE(&k->pids);
	VEC_FREE(&k->seen);
}
