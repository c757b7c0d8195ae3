#include "engine/targets.h"

#include "base/hash.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>

/* ---- a set of ids ------------------------------------------------------------ */

static uint32_t home(const struct targets_set *s, uint32_t id)
{
	return (uint32_t)hash_u64(id) & (s->n_slots - 1);
}

static bool set_has(const struct targets_set *s, uint32_t id)
{
	if (s->n == 0 || id == 0)
		return false;
	for (uint32_t i = home(s, id); s->slot[i]; i = (i + 1) & (s->n_slots - 1))
		if (s->slot[i] == id)
			return true;
	return false;
}

static int set_add(struct targets_set *s, uint32_t id)
{
	if (id == 0 || set_has(s, id))
		return 0;
	if (s->n * 2 >= s->n_slots) {
		struct targets_set more = { .n_slots = s->n_slots ? s->n_slots * 2 : 64 };
		more.slot = calloc(more.n_slots, sizeof(*more.slot));
		if (!more.slot)
			return -ENOMEM;
		for (uint32_t i = 0; i < s->n_slots; i++)
			if (s->slot[i])
				set_add(&more, s->slot[i]);
		free(s->slot);
		*s = more;
	}
	uint32_t i = home(s, id);
	while (s->slot[i])
		i = (i + 1) & (s->n_slots - 1);
	s->slot[i] = id;
	s->n++;
	return 0;
}

/* Closes the gap left by a removed id, so that every probe sequence stays complete. */
static void set_remove(struct targets_set *s, uint32_t id)
{
	if (!set_has(s, id))
		return;
	uint32_t mask = s->n_slots - 1, hole = home(s, id);
	while (s->slot[hole] != id)
		hole = (hole + 1) & mask;
	for (uint32_t i = (hole + 1) & mask; s->slot[i]; i = (i + 1) & mask) {
		if (((i - home(s, s->slot[i])) & mask) >= ((i - hole) & mask)) {
			s->slot[hole] = s->slot[i];
			hole = i;
		}
	}
	s->slot[hole] = 0;
	s->n--;
}

/* ---- targets ------------------------------------------------------------------- */

void targets_init(struct targets *t, bool follow)
{
	*t = (struct targets){ .follow = follow };
}

void targets_done(struct targets *t)
{
	free(t->pids.slot);
	free(t->tids.slot);
	free(t->hosts.slot);
	*t = (struct targets){ 0 };
}

int targets_add_pid(struct targets *t, uint32_t pid)
{
	return set_add(&t->pids, pid);
}

int targets_add_tid(struct targets *t, uint32_t pid, uint32_t tid)
{
	int code = set_add(&t->hosts, pid);
	return code < 0 ? code : set_add(&t->tids, tid);
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

static void forget(struct targets_set *s, bool (*has)(void *ctx, uint32_t pid), void *ctx)
{
	struct targets_set kept = { .n_slots = 0 };
	for (uint32_t i = 0; i < s->n_slots; i++) {
		if (!s->slot[i] || !has(ctx, s->slot[i]))
			continue;
		if (set_add(&kept, s->slot[i]) < 0) {
			free(kept.slot);
			return;
		}
	}
	free(s->slot);
	*s = kept;
}

void targets_forget(struct targets *t, bool (*has)(void *ctx, uint32_t pid), void *ctx)
{
	forget(&t->pids, has, ctx);
	forget(&t->hosts, has, ctx);
}
