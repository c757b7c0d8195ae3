/*
 * A drain is a round: the caller's thread fetches the heads of the rings, all readers process what
 * was there, and the caller waits for the last of them.  So pauses, snapshots, changes of events
 * and collections of garbage happen while no other thread runs, and need no locks.  A hash of their
 * ids divides the target's threads among the readers, so these have about the same work.  A round
 * that is too small to be worth waking threads is processed by the caller's thread for all readers,
 * one after the other.
 *
 * The threads take no signals.  Their priority is the caller's matter, as that of its own thread.
 */

#include "recorder/readers.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/gc-files.h"
#include "engine/gc-threads.h"
#include "source/record.h"
#include "source/share.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some dozen samples: waking a thread and waiting for it costs as much as a few. */
#define WAKE_BYTES_MIN 65536u

struct readers_thread {
	struct readers *of;
	uint32_t index;                /* of its shard */
	pthread_t id;
	int r;                         /* of the last round */
	struct err e;
};

void readers_init(struct readers *rs, struct source *source, struct engine *total)
{
	*rs = (struct readers){ .source = source, .total = total, .owner = getpid() };
	pthread_mutex_init(&rs->lock, NULL);
	pthread_cond_init(&rs->begin, NULL);
	pthread_cond_init(&rs->end, NULL);
}

/* ---- one reader's part of a round ---------------------------------------------------- */

static int read_shard(struct readers *rs, uint32_t index, struct err *e)
{
	struct shard *s = &rs->shard[index];
	struct record record;
	int r;
	applabels_poll(&s->engine.app);
	while ((r = share_next(rs->source, index, &record, e)) == SOURCE_RECORD) {
		if (index == 0 && record.type != PERF_RECORD_SAMPLE)
			engine_feed(rs->total, &record);
		shards_feed(s, &record, share_position(rs->source, index));
	}
	return r < 0 ? r : 0;
}

/* ---- threads ------------------------------------------------------------------------- */

static void announce(const struct readers *rs, bool begins)
{
	if (rs->on_thread)
		rs->on_thread(rs->on_thread_ctx, begins);
}

static void *run_thread(void *arg)
{
	struct readers_thread *t = arg;
	struct readers *rs = t->of;
	uint64_t round = 0;
	announce(rs, true);
	pthread_mutex_lock(&rs->lock);
	for (;;) {
		while (rs->round == round && !rs->is_over)
			pthread_cond_wait(&rs->begin, &rs->lock);
		if (rs->is_over)
			break;
		round = rs->round;
		pthread_mutex_unlock(&rs->lock);
		t->r = read_shard(rs, t->index, &t->e);
		pthread_mutex_lock(&rs->lock);
		if (--rs->n_busy == 0)
			pthread_cond_signal(&rs->end);
	}
	pthread_mutex_unlock(&rs->lock);
	announce(rs, false);
	return NULL;
}

static void stop_threads(struct readers *rs)
{
	pthread_mutex_lock(&rs->lock);
	rs->is_over = true;
	pthread_cond_broadcast(&rs->begin);
	pthread_mutex_unlock(&rs->lock);
	for (uint32_t i = 0; i < rs->n_threads; i++)
		pthread_join(rs->thread[i].id, NULL);
	rs->n_threads = 0;
	rs->is_over = false;
	rs->round = 0;
}

static int start_threads(struct readers *rs)
{
	sigset_t all, before;
	int r = 0;
	rs->thread = calloc(rs->n, sizeof(*rs->thread));
	if (!rs->thread)
		return -ENOMEM;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	while (r == 0 && rs->n_threads < rs->n - 1) {
		struct readers_thread *t = &rs->thread[rs->n_threads];
		*t = (struct readers_thread){ .of = rs, .index = rs->n_threads + 1 };
		r = -pthread_create(&t->id, NULL, run_thread, t);
		rs->n_threads += r == 0;
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

static void drop_shards(struct readers *rs)
{
	/* After a fork, others' locks and threads are of no meaning. */
	if (rs->owner == getpid())
		stop_threads(rs);
	for (uint32_t i = 0; i < rs->n; i++)
		shards_done(&rs->shard[i]);
	free(rs->shard);
	free(rs->thread);
	rs->shard = NULL;
	rs->thread = NULL;
	rs->n = 0;
	rs->total->dsos.keep.max_open = 0;
}

void readers_done(struct readers *rs)
{
	if (!rs->total)
		return;
	drop_shards(rs);
	if (rs->owner == getpid()) {
		pthread_mutex_destroy(&rs->lock);
		pthread_cond_destroy(&rs->begin);
		pthread_cond_destroy(&rs->end);
	}
	*rs = (struct readers){ .n = 0 };
}

/* ---- their number -------------------------------------------------------------------- */

static int add_shards(struct readers *rs, uint32_t n, struct err *e)
{
	rs->shard = calloc(n, sizeof(*rs->shard));
	if (!rs->shard)
		return err_errno(e, ENOMEM, "cannot set up %u readers", n);
	while (rs->n < n) {
		int r = shards_init(&rs->shard[rs->n], rs->total, rs->n, n, e);
		if (r < 0)
			return r;
		rs->n++;
	}
	int r = start_threads(rs);
	if (r < 0)
		return err_errno(e, -r, "cannot start %u threads for reading", n - 1);
	shards_add_up(rs->shard, rs->n, rs->total);
	rs->total->dsos.keep.max_open = shards_files_each(n);
	return 0;
}

int readers_set(struct readers *rs, uint32_t n, struct err *e)
{
	int r = readers_absorb(rs, e);
	if (r < 0)
		return r;
	drop_shards(rs);
	r = share_set(rs->source, n, e);
	if (r < 0 || n < 2)
		return r;
	r = add_shards(rs, n, e);
	if (r == 0)
		return 0;
	drop_shards(rs);
	share_set(rs->source, 1, NULL);
	return r;
}

/* ---- rounds --------------------------------------------------------------------------- */

static void wake_threads(struct readers *rs)
{
	pthread_mutex_lock(&rs->lock);
	rs->n_busy = rs->n_threads;
	rs->round++;
	pthread_cond_broadcast(&rs->begin);
	pthread_mutex_unlock(&rs->lock);
}

static int wait_for_threads(struct readers *rs, struct err *e)
{
	pthread_mutex_lock(&rs->lock);
	while (rs->n_busy)
		pthread_cond_wait(&rs->end, &rs->lock);
	pthread_mutex_unlock(&rs->lock);
	for (uint32_t i = 0; i < rs->n_threads; i++) {
		if (rs->thread[i].r == 0)
			continue;
		if (e)
			*e = rs->thread[i].e;
		return rs->thread[i].r;
	}
	return 0;
}

int readers_drain(struct readers *rs, struct err *e)
{
	int r = 0, others;
	for (uint32_t i = 0; i < rs->n; i++)
		shards_prepare(&rs->shard[i], rs->total);
	if (share_begin(rs->source) < WAKE_BYTES_MIN) {
		for (uint32_t i = 0; i < rs->n && r == 0; i++)
			r = read_shard(rs, i, e);
	} else {
		wake_threads(rs);
		r = read_shard(rs, 0, e);
		others = wait_for_threads(rs, r < 0 ? NULL : e);
		r = r < 0 ? r : others;
	}
	shards_add_up(rs->shard, rs->n, rs->total);
	return r;
}

/* ---- between rounds -------------------------------------------------------------------- */

int readers_absorb(struct readers *rs, struct err *e)
{
	return rs->n ? shards_absorb(rs->shard, rs->n, rs->total, e) : 0;
}

void readers_clear(struct readers *rs)
{
	for (uint32_t i = 0; i < rs->n; i++)
		shards_clear(&rs->shard[i]);
}

int readers_collect(struct readers *rs, uint64_t now_ns, struct err *e)
{
	bool is_due = false;
	for (uint32_t i = 0; i < rs->n; i++) {
		gc_threads_ended(&rs->shard[i].engine, now_ns);
		gc_files_cfi(&rs->shard[i].engine.gc.tables);
		is_due |= shards_is_due(&rs->shard[i]);
	}
	int r = is_due ? readers_absorb(rs, e) : 0;
	for (uint32_t i = 0; i < rs->n && is_due && r == 0; i++)
		shards_collect(&rs->shard[i]);
	return r;
}

int readers_labels_timeout_ms(const struct readers *rs)
{
	int least = applabels_timeout_ms(&rs->total->app);
	for (uint32_t i = 0; i < rs->n; i++) {
		int ms = applabels_timeout_ms(&rs->shard[i].engine.app);
		if (ms >= 0 && (least < 0 || ms < least))
			least = ms;
	}
	return least;
}

void readers_poll_jit(struct readers *rs, uint64_t now_ns, bool is_forced)
{
	jit_poll(&rs->total->jit, now_ns, is_forced);
	for (uint32_t i = 0; i < rs->n; i++)
		jit_poll(&rs->shard[i].engine.jit, now_ns, is_forced);
}
