/* A target may create threads faster than events are opened on them, so the number of scans is
 * bounded. */

#include "source/live/livescan.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/hash.h"
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
	uint32_t id = (uint32_t)tid;
	return HASHINDEX_FIND(&k->seen, hash_u64(id), i, i == id) != HASHINDEX_NONE;
}

bool livescan_add(struct livescan *k, pid_t tid)
{
	return livescan_has(k, tid) || hashindex_add(&k->seen, hash_u64((uint32_t)tid),
						     (uint32_t)tid);
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
	if (!livescan_add(k, tid))
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

static int repeat_scans(struct livescan *k, struct err *e)
{
	for (int scan = 0; scan < SCANS_MAX; scan++) {
		int n_new = scan_processes(k, k->is_late || scan > 0, e);
		if (n_new <= 0)
			return n_new;
	}
	return err_set(e, EAGAIN, "threads are created faster than events are opened");
}

int livescan_processes(struct livescan *k, const pid_t *pid, size_t n, struct err *e)
{
	for (size_t i = 0; i < n; i++)
		if (add_process(k, pid[i]) < 0)
			return err_errno(e, ENOMEM, "cannot list processes");
	return repeat_scans(k, e);
}

int livescan_run(struct livescan *k, struct err *e)
{
	CLEANUP_FREE pid_t *pids = NULL;
	int n = k->options->processes(k->options->processes_ctx, &pids);
	if (n < 0)
		return err_errno(e, -n, "cannot list processes");
	return livescan_processes(k, pids, (size_t)n, e);
}

int livescan_child(struct livescan *k, pid_t pid, pid_t tid, struct err *e)
{
	if (tid == pid)
		return livescan_processes(k, &pid, 1, e);
	int r = open_thread(k, pid, tid, k->is_late, e);
	if (r < 0)
		return r;
	if (is_target(k, pid, tid) && add_children(k, pid, tid) < 0)
		return err_errno(e, ENOMEM, "cannot list processes");
	return repeat_scans(k, e);
}

void livescan_done(struct livescan *k)
{
	VEC_FREE(&k->pids);
	hashindex_done(&k->seen);
}
