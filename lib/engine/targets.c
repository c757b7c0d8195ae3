/* Targets as sets of process and thread ids, kept up to date by side-band records. */

#include "engine/targets.h"

#include "base/hash.h"
#include "base/hashindex.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

/* ---- a set of ids ------------------------------------------------------------ */

/* The ids themselves are in the index.  Id 0, of the idle task, is in no set. */
static bool set_has(const struct hashindex *s, uint32_t id)
{
	return HASHINDEX_FIND(s, hash_u64(id), k, k == id) != HASHINDEX_NONE;
}

static int set_add(struct hashindex *s, uint32_t id)
{
	return id == 0 || set_has(s, id) || hashindex_add(s, hash_u64(id), id) ? 0 : -ENOMEM;
}

static void set_remove(struct hashindex *s, uint32_t id)
{
	hashindex_remove(s, hash_u64(id), id);
}

static int set_copy(struct hashindex *to, const struct hashindex *from)
{
	for (uint32_t i = 0; i < from->n_slots; i++) {
		uint32_t id = hashindex_id(from, i);
		if (id != HASHINDEX_NONE && set_add(to, id) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* ---- targets ------------------------------------------------------------------- */

void targets_init(struct targets *t, bool follow)
{
	*t = (struct targets){ .follow = follow };
}

void targets_done(struct targets *t)
{
	hashindex_done(&t->pids);
	hashindex_done(&t->tids);
	hashindex_done(&t->hosts);
	*t = (struct targets){ 0 };
}

int targets_copy(struct targets *to, const struct targets *from)
{
	struct targets copy = *from;
	copy.pids = copy.tids = copy.hosts = (struct hashindex){ 0 };
	if (set_copy(&copy.pids, &from->pids) < 0 || set_copy(&copy.tids, &from->tids) < 0 ||
	    set_copy(&copy.hosts, &from->hosts) < 0) {
		targets_done(&copy);
		return -ENOMEM;
	}
	targets_done(to);
	*to = copy;
	return 0;
}

int targets_add_pid(struct targets *t, uint32_t pid)
{
	return set_add(&t->pids, pid);
}

int targets_add_tid(struct targets *t, uint32_t pid, uint32_t tid)
{
	int r = set_add(&t->hosts, pid);
	return r < 0 ? r : set_add(&t->tids, tid);
}

void targets_add_command(struct targets *t, uint32_t pid)
{
	t->waiting_pid = pid;
}

bool targets_has(const struct targets *t, uint32_t pid, uint32_t tid)
{
	if (pid == t->waiting_pid && pid)
		return false;
	if (t->all)
		return tid != 0 || !t->no_idle;
	return set_has(&t->pids, pid) || set_has(&t->tids, tid);
}

bool targets_note_sample(struct targets *t, uint32_t pid, uint32_t tid)
{
	if (pid == t->waiting_pid && pid)
		return false;
	if (t->all || set_has(&t->pids, pid) || set_has(&t->tids, tid))
		return true;
	return (set_has(&t->hosts, pid) ? set_add(&t->tids, tid) : set_add(&t->pids, pid)) == 0;
}

static bool feed_fork(struct targets *t, const struct record *r)
{
	bool parent = targets_has(t, r->fork.ppid, r->fork.ptid);
	bool new_process = r->pid != r->fork.ppid;
	if (new_process)
		set_remove(&t->pids, r->pid);  /* a reused id */
	set_remove(&t->tids, r->tid);
	if (!parent || t->all)
		return parent;
	/* If memory is short, a child is not followed; its CPU time then shows up as not covered.
	 */
	if (new_process && t->follow)
		set_add(&t->pids, r->pid);
	else if (!new_process && t->follow && !set_has(&t->pids, r->pid))
		targets_add_tid(t, r->pid, r->tid);
	return parent;
}

static void start_command(struct targets *t)
{
	uint32_t pid = t->waiting_pid;
	t->waiting_pid = 0;
	if (t->follow)
		set_add(&t->pids, pid);
	else
		targets_add_tid(t, pid, pid);
}

void targets_note_time(struct targets *t, uint64_t time_ns)
{
	if (t->waiting_pid && t->started_ns && time_ns > t->started_ns)
		start_command(t);
}

bool targets_feed(struct targets *t, const struct record *r)
{
	if (r->type == PERF_RECORD_FORK)
		return feed_fork(t, r);
	if (r->type == PERF_RECORD_COMM && r->comm.exec && r->pid == t->waiting_pid &&
	    t->waiting_pid) {
		start_command(t);
		return true;
	}
	bool has = targets_has(t, r->pid, r->tid) || set_has(&t->hosts, r->pid);
	if (r->type == PERF_RECORD_EXIT)
		set_remove(&t->tids, r->tid);
	return has;
}

static void forget_ids(struct hashindex *s, bool (*has)(void *ctx, uint32_t pid), void *ctx)
{
	struct hashindex kept = { 0 };
	for (uint32_t i = 0; i < s->n_slots; i++) {
		uint32_t id = hashindex_id(s, i);
		if (id == HASHINDEX_NONE || !has(ctx, id))
			continue;
		if (set_add(&kept, id) < 0) {
			hashindex_done(&kept);
			return;
		}
	}
	hashindex_done(s);
	*s = kept;
}

void targets_forget(struct targets *t, bool (*has)(void *ctx, uint32_t pid), void *ctx)
{
	forget_ids(&t->pids, has, ctx);
	forget_ids(&t->hosts, has, ctx);
}
