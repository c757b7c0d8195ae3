/*
 * A drain is a round: the caller's thread fetches the heads of the rings, all readers process what
 * was there, and the caller waits for the last of them.  So pauses, snapshots, changes of events
 * and collections of garbage happen while no other thread runs, and need no locks.  Each thread of
 * the target belongs to one reader, the one with the least to do when it was first seen.  More
 * readers are added without a pause: the others keep their caches and what they have counted, and
 * most of their threads.  Fewer are made from none, after their counts were moved.  A round
 * that is too small to be worth waking threads is processed by the caller's thread for all readers,
 * one after the other.
 */

#include "recorder/readers.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/units.h"
#include "engine/gc-files.h"
#include "engine/gc-threads.h"
#include "source/record.h"
#include "source/share.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Some dozen samples: waking a thread and waiting for it costs as much as a few. */
#define WAKE_BYTES_MIN 65536u

/* ---- one reader's part of a round ---------------------------------------------------- */

static int read_shard(struct readers *rs, uint32_t index, struct err *e)
{
	struct shard *s = &rs->shard[index];
	struct record record;
	int r;
	applabels_poll(&s->engine.app);
	golabels_poll(&s->engine.go);
	functions_tick(&s->engine.functions, &s->engine.procs, clock_monotonic_ns());
	share_read(rs->source, index);
	while ((r = share_next(rs->source, index, &record, e)) == SOURCE_RECORD) {
		if (index == 0 && record.type != PERF_RECORD_SAMPLE)
			engine_feed(rs->total, &record);
		shards_feed(s, &record, share_place(rs->source, index));
	}
	return r < 0 ? r : 0;
}

static int init_shard(struct readers *rs, uint32_t index, struct err *e)
{
	struct shard *s = &rs->shard[index];
	int r = shards_init(s, rs->total, rs->source, index, rs->n_next, e);
	s->is_ready = r == 0;
	return r;
}

static int take_part(void *ctx, uint32_t index, struct err *e)
{
	struct readers *rs = ctx;
	if (rs->n_next)
		return index < rs->n ? 0 : init_shard(rs, index, e);
	share_scan(rs->source, index);
	if (readerpool_meet(&rs->pool)) {
		share_plan(rs->source);
		readerpool_part(&rs->pool);
	}
	return read_shard(rs, index, e);
}

/* ---- their number -------------------------------------------------------------------- */

void readers_init(struct readers *rs, struct source *source, struct engine *total)
{
	*rs = (struct readers){ .source = source, .total = total, .n_max = 1 };
	readerpool_init(&rs->pool);
	rs->pool.work = take_part;
	rs->pool.ctx = rs;
}

static void drop_shards(struct readers *rs, uint32_t n_kept)
{
	for (uint32_t i = n_kept; i < rs->n_room; i++)
		if (rs->shard[i].is_ready)
			shards_done(&rs->shard[i]);
	rs->n = n_kept;
	if (n_kept)
		return;
	free(rs->shard);
	rs->shard = NULL;
	rs->n_room = 0;
	rs->total->dsos.keep.max_open = 0;
}

void readers_done(struct readers *rs)
{
	if (!rs->total)
		return;
	drop_shards(rs, 0);
	readerpool_done(&rs->pool);
	*rs = (struct readers){ .n = 0 };
}

/* Shards cannot be moved: makes room for as many as there may be. */
static int make_room(struct readers *rs, uint32_t n, struct err *e)
{
	rs->n_room = n > rs->load.max ? n : rs->load.max;
	rs->shard = calloc(rs->n_room, sizeof(*rs->shard));
	if (!rs->shard)
		rs->n_room = 0;
	return rs->shard ? 0 : err_errno(e, ENOMEM, "cannot set up %u reader%s", n, units_s(n));
}

/* Each new thread sets up its own shard, and the caller's the first one. */
static int init_shards(struct readers *rs, uint32_t n, struct err *e)
{
	int r = rs->n_room ? 0 : make_room(rs, n, e);
	if (r == 0)
		r = readerpool_fit(&rs->pool, n, e);
	if (r < 0)
		return r;
	rs->n_next = n;
	r = readerpool_run(&rs->pool, n, e);
	rs->n_next = 0;
	return r;
}

/* -errno with e set: there are as many as before. */
static int add_shards(struct readers *rs, uint32_t n, struct err *e)
{
	uint32_t n_before = rs->n;
	int r = init_shards(rs, n, e);
	if (r == 0)
		r = share_set(rs->source, n, e);
	if (r < 0) {
		drop_shards(rs, n_before);
		return r;
	}
	rs->n = n;
	golabels_stop(&rs->total->go);
	for (uint32_t i = 0; i < n; i++)
		rs->shard[i].engine.dsos.keep.max_open = shards_files_each(n);
	shards_add_up(rs->shard, rs->n, rs->total);
	rs->total->dsos.keep.max_open = shards_files_each(n);
	rs->n_max = n > rs->n_max ? n : rs->n_max;
	return 0;
}

int readers_set(struct readers *rs, uint32_t n, struct err *e)
{
	if (rs->n && n > rs->n && n <= rs->n_room)
		return add_shards(rs, n, e);
	int r = readers_absorb(rs, e);
	if (r < 0)
		return r;
	drop_shards(rs, 0);
	r = share_set(rs->source, 1, e);
	return r < 0 || n < 2 ? r : add_shards(rs, n, e);
}

void readers_note_left(struct readers *rs, uint64_t now_ns)
{
	rs->left_ns = now_ns;
}

uint32_t readers_adapt(struct readers *rs, uint64_t begin_ns, uint64_t end_ns)
{
	uint32_t now = rs->n ? rs->n : 1;
	uint64_t last_ns = rs->load.last.end_ns;
	const struct readerload_round round = {
		begin_ns, end_ns, share_fullest_percent(rs->source),
		last_ns && rs->left_ns > last_ns ? rs->left_ns - last_ns : 0,
	};
	uint32_t n = readerload_note(&rs->load, now, &round);
	if (n == now)
		return n;
	/* Without memory or threads for more, it stays as it is. */
	if (readers_set(rs, n, NULL) < 0)
		rs->load.max = rs->n ? rs->n : 1;
	rs->n_changes++;
	return rs->n ? rs->n : 1;
}

/* ---- rounds --------------------------------------------------------------------------- */

int readers_drain(struct readers *rs, struct err *e)
{
	int r = 0;
	for (uint32_t i = 0; i < rs->n; i++)
		shards_prepare(&rs->shard[i], rs->total);
	if (share_begin(rs->source) < WAKE_BYTES_MIN) {
		for (uint32_t i = 0; i < rs->n; i++)
			share_scan(rs->source, i);
		share_plan(rs->source);
		for (uint32_t i = 0; i < rs->n && r == 0; i++)
			r = read_shard(rs, i, e);
	} else {
		r = readerpool_run(&rs->pool, rs->n, e);
	}
	share_end(rs->source);
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
	for (uint32_t i = 0; i < rs->n; i++) {
		shards_clear(&rs->shard[i]);
		gc_files_let_go(&rs->shard[i].engine.gc.tables);
	}
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

static int labels_timeout_ms(const struct engine *g)
{
	return clock_sooner_ms(applabels_timeout_ms(&g->app), golabels_timeout_ms(&g->go));
}

int readers_labels_timeout_ms(const struct readers *rs)
{
	int least = labels_timeout_ms(rs->total);
	for (uint32_t i = 0; i < rs->n; i++)
		least = clock_sooner_ms(least, labels_timeout_ms(&rs->shard[i].engine));
	return least;
}

uint64_t readers_functions_due_ns(struct readers *rs, uint64_t now_ns)
{
	uint64_t due_ns = functions_due_ns(&rs->total->functions, now_ns);
	for (uint32_t i = 0; i < rs->n; i++) {
		uint64_t ns = functions_due_ns(&rs->shard[i].engine.functions, now_ns);
		due_ns = ns < due_ns ? ns : due_ns;
	}
	return due_ns;
}

void readers_poll_jit(struct readers *rs, uint64_t now_ns, bool is_forced)
{
	jit_poll(&rs->total->jit, now_ns, is_forced);
	for (uint32_t i = 0; i < rs->n; i++)
		jit_poll(&rs->shard[i].engine.jit, now_ns, is_forced);
}
