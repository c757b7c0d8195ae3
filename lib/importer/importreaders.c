/*
 * Reading a record costs a fraction of unwinding its stack, so every reader reads the whole file:
 * they share nothing but its pages, and need no order between them.  All see the same records, so
 * each can tell by itself which threads are its own, and the number of a record is its place.  A
 * quarter of the time of one reader is reading, which all of them do.
 *
 * After some thousand records each, they meet: what memory is left is divided anew.
 */

#include "importer/importreaders.h"

#include "base/err.h"
#include "base/foreign.h"
#include "base/log.h"
#include "base/units.h"
#include "engine/readerpool.h"
#include "engine/shards.h"
#include "importer/importer.h"
#include "source/divide.h"
#include "source/perfdata/perfdata.h"
#include "source/record.h"
#include "source/share.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/stat.h>

#define ROUND_RECORDS 32768u

/* A file of this size takes a tenth of a second.  Below, starting readers and their empty caches
 * cost more than they gain.  What else runs needs CPUs, too. */
#define BYTES_PER_READER (512u << 20)
#define CPUS_PER_READER 4u

struct import_reader {
	struct source division;        /* first: knows which thread has which reader */
	struct divide divide;
	uint32_t index;
	struct shard *shard;
	struct host host;              /* the importer's, with a struct foreign of its own */
	struct importfiles files;
	struct source *records;        /* of the first reader: the importer's */
	uint64_t n_records;
	int last;                      /* enum source_outcome or -errno, of the last record */
};

struct import_readers {
	struct cprof_importer *m;
	struct import_reader *reader;
	struct shard *shard;           /* one per reader */
	uint32_t n;
};

/* ---- their number -------------------------------------------------------------------- */

static uint32_t n_own_cpus(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	return n > 0 ? (uint32_t)n : 1;
}

/* The samples have copies of stacks, which take most of the time. */
static bool has_copies(const struct cprof_importer *m)
{
	bool any = false;
	for (size_t i = 0; i < m->n_file_events; i++) {
		const struct record_format *f = &perfdata_event(m->source, i)->format;
		any |= f->sample_regs_user && f->sample_type & PERF_SAMPLE_STACK_USER;
	}
	return any && (m->config.callgraph == CPROF_CALLGRAPH_AUTO ||
		       m->config.callgraph == CPROF_CALLGRAPH_DWARF);
}

uint32_t importreaders_choose(const struct cprof_importer *m)
{
	uint32_t n = m->config.n_readers;
	struct stat st;
	/* A stream can be read once, and the order of all samples matters for waits and for where
	 * times begin. */
	if (n < 2 || perfdata_info(m->source)->is_pipe || m->waits.n_profiles ||
	    (m->config.timeline_ns && !m->engine.options.timeline.since_ns) ||
	    fstat(m->fd, &st) < 0)
		return 1;
	if (n != CPROF_READERS_AUTO)
		return n < CPROF_READERS_MAX ? n : CPROF_READERS_MAX;
	uint64_t by_size = has_copies(m) ? (uint64_t)st.st_size / BYTES_PER_READER : 1;
	n = n_own_cpus() / CPUS_PER_READER;
	n = by_size < n ? (uint32_t)by_size : n;
	return n ? n : 1;
}

/* ---- one reader ----------------------------------------------------------------------- */

static uint32_t reader_of(const struct source *s, uint32_t tid)
{
	return divide_reader(&((const struct import_reader *)s)->divide, tid);
}

static const struct share_ops division_share = { .reader_of = reader_of };
static const struct source_ops division_ops = { .share = &division_share };

static int reader_init(struct import_readers *rs, uint32_t index, struct err *e)
{
	struct cprof_importer *m = rs->m;
	struct import_reader *v = &rs->reader[index];
	*v = (struct import_reader){
		.division = { .ops = &division_ops }, .index = index,
		.shard = &rs->shard[index], .host = m->host, .files = m->files,
	};
	v->host.foreign = foreign_new();
	if (!v->host.foreign || divide_init(&v->divide, rs->n) < 0)
		return err_errno(e, ENOMEM, "cannot set up %u reader%s", rs->n, units_s(rs->n));
	int r = shards_init(v->shard, &m->engine, &v->division, index, rs->n, e);
	if (r < 0)
		return r;
	v->shard->is_ready = v->shard->moves_all = true;
	v->records = m->source;
	if (index)
		r = perfdata_open(m->fd, m->config.path, m->config.maps, &v->records, e);
	if (r < 0) {
		v->records = NULL;
		return r;
	}
	v->files.source = v->records;
	v->files.host = &v->host;
	v->files.log = NULL;  /* the total engine's are reported */
	v->files.absent = NULL;
	struct engine *g = &v->shard->engine;
	g->procs.mapdso.open_file = importfiles_open;
	g->procs.mapdso.open_ctx = &v->files;
	g->walk.user.debug = m->engine.walk.user.debug;
	g->walk.user.debug.host = &v->host;
	return 0;
}

static void readers_free(struct import_readers *rs)
{
	for (uint32_t i = 0; rs->reader && i < rs->n; i++) {
		struct import_reader *v = &rs->reader[i];
		if (rs->shard[i].is_ready)
			shards_done(&rs->shard[i]);
		if (i)
			source_close(v->records);
		divide_done(&v->divide);
		foreign_free(v->host.foreign);
	}
	free(rs->reader);
	free(rs->shard);
}

static void feed(struct import_reader *v, struct cprof_importer *m, struct record *r)
{
	bool is_first = v->index == 0, is_sample = r->type == PERF_RECORD_SAMPLE;
	if (!importer_prepare(m, r, is_first))
		return;
	if (is_sample && r->tid != UINT32_MAX)
		divide_add(&v->divide, r->tid, 1);
	if (is_first && !is_sample)
		engine_feed(&m->engine, r);
	shards_feed(v->shard, r, (struct share_place){ v->n_records, 0 });
}

static int read_some(void *ctx, uint32_t index, struct err *e)
{
	struct import_readers *rs = ctx;
	struct import_reader *v = &rs->reader[index];
	struct record record;
	for (uint32_t i = 0; i < ROUND_RECORDS; i++) {
		v->last = source_next(v->records, &record, e);
		if (v->last != SOURCE_RECORD)
			break;
		v->n_records++;
		feed(v, rs->m, &record);
	}
	divide_forget(&v->divide);
	return v->last < 0 ? v->last : 0;
}

/* ---- all of them ------------------------------------------------------------------------ */

/* They end in the same round, unless the file has changed meanwhile. */
static bool is_over(const struct import_readers *rs)
{
	bool over = true;
	for (uint32_t i = 0; i < rs->n; i++)
		over &= rs->reader[i].last != SOURCE_RECORD;
	return over;
}

static int init_all(struct import_readers *rs, struct readerpool *pool, struct err *e)
{
	rs->reader = calloc(rs->n, sizeof(*rs->reader));
	rs->shard = calloc(rs->n, sizeof(*rs->shard));
	if (!rs->reader || !rs->shard)
		return err_errno(e, ENOMEM, "cannot set up %u reader%s", rs->n, units_s(rs->n));
	int r = 0;
	for (uint32_t i = 0; i < rs->n && r == 0; i++)
		r = reader_init(rs, i, e);
	return r == 0 ? readerpool_fit(pool, rs->n, e) : r;
}

static int read_all(struct import_readers *rs, struct readerpool *pool, struct err *e)
{
	struct engine *total = &rs->m->engine;
	int r = 0;
	do {
		shards_add_up(rs->shard, rs->n, total);
		r = readerpool_run(pool, rs->n, e);
	} while (r == 0 && !is_over(rs));
	/* Records before the damage still make a profile. */
	struct err absorbed;
	int code = shards_absorb(rs->shard, rs->n, total, &absorbed);
	if (code < 0 && r == 0) {
		*e = absorbed;
		r = code;
	}
	return r;
}

int importreaders_run(struct cprof_importer *m, uint32_t n, struct err *e)
{
	struct import_readers rs = { .m = m, .n = n };
	struct readerpool pool;
	readerpool_init(&pool);
	pool.work = read_some;
	pool.ctx = &rs;
	int r = init_all(&rs, &pool, e);
	if (r < 0) {
		log_line(m->config.log, LOG_EXPLAIN, "one thread imports the file: %s", e->what);
		r = -EAGAIN;
	} else {
		log_line(m->config.log, LOG_EXPLAIN, "the file is imported by %u thread%s", n,
			 units_s(n));
		r = read_all(&rs, &pool, e);
	}
	readerpool_done(&pool);
	readers_free(&rs);
	return r;
}
