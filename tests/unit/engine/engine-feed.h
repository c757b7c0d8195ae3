#ifndef CPROF_TESTS_UNIT_ENGINE_ENGINE_FEED_H
#define CPROF_TESTS_UNIT_ENGINE_ENGINE_FEED_H

/*
 * Feeds hand-made records to an engine; engine-result.h shows what it has counted.
 *
 *	struct engine g;
 *	feed_open(&g, 0);
 *	feed_at(10);
 *	feed_mmap(&g, 7, 0x1000, 0x1000, 0, "/bin/a");
 *	feed_sample(&g, 7, 7, 0, 1, FEED_CHAIN(PERF_CONTEXT_USER, 0x1010, 0x1021));
 *	feed_stack_text(&g, g.counts.v[0].stack)   "a+0x20;a+0x10"
 */

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/err.h"
#include "engine/engine.h"
#include "source/record.h"
#include "tests/unit/engine/engine-result.h"

static uint64_t feed_time_ns = 1;

static inline void feed_at(uint64_t time_ns)
{
	feed_time_ns = time_ns;
}

static inline void feed_open_with(struct engine *g, const struct engine_options *o)
{
	struct err e;
	if (engine_init(g, o, &e) < 0) {
		printf("Bail out! %s\n", e.what);
		exit(1);
	}
}

/* All tasks are targets; two events; the default labels. */
static inline void feed_open(struct engine *g, size_t max_memory_bytes)
{
	struct engine_options o = {
		.n_events = 2, .labels = SAMPLELABELS_DEFAULT, .follow = true,
		.max_memory_bytes = max_memory_bytes,
	};
	feed_open_with(g, &o);
	g->targets.all = true;
}

static inline struct record feed_record(uint32_t type, uint16_t misc, uint32_t pid, uint32_t tid)
{
	return (struct record){
		.type = type, .misc = misc, .event = RECORD_NO_EVENT, .has_time = true,
		.time_ns = feed_time_ns, .pid = pid, .tid = tid, .cpu = UINT32_MAX,
	};
}

static inline void feed_mmap(struct engine *g, uint32_t pid, uint64_t start, uint64_t len,
			     uint64_t pgoff, const char *filename)
{
	struct record r = feed_record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER, pid, pid);
	r.mmap = (struct record_mmap){
		.start = start, .len = len, .pgoff = pgoff, .prot = PROT_READ | PROT_EXEC,
		.flags = MAP_PRIVATE, .filename = filename, .maj = 8, .min = 1,
	};
/* Every file name is a separate file. */
	for (const char *p = filename; *p; p++)
		r.mmap.ino = r.mmap.ino * 31 + (unsigned char)*p;
	engine_feed(g, &r);
}

static inline void feed_comm(struct engine *g, uint32_t pid, uint32_t tid, const char *name,
			     bool exec)
{
	struct record r = feed_record(PERF_RECORD_COMM, 0, pid, tid);
	r.comm = (struct record_comm){ .comm = name, .exec = exec };
	engine_feed(g, &r);
}

static inline void feed_fork(struct engine *g, uint32_t ppid, uint32_t ptid, uint32_t pid,
			     uint32_t tid)
{
	struct record r = feed_record(PERF_RECORD_FORK, 0, pid, tid);
	r.fork = (struct record_fork){ .ppid = ppid, .ptid = ptid, .time_ns = feed_time_ns };
	engine_feed(g, &r);
}

static inline void feed_exit(struct engine *g, uint32_t pid, uint32_t tid)
{
	struct record r = feed_record(PERF_RECORD_EXIT, 0, pid, tid);
	r.fork = (struct record_fork){ .ppid = pid, .ptid = pid, .time_ns = feed_time_ns };
	engine_feed(g, &r);
}

#define FEED_CHAIN(...) (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

/* The address of the sample is the first in the chain that is not a mark. */
static inline void feed_sample_on(struct engine *g, uint32_t cpu, uint32_t pid, uint32_t tid,
				  uint32_t event, uint64_t period, const uint64_t *chain, size_t n)
{
	struct record r = feed_record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER, pid, tid);
	r.event = event;
	r.cpu = cpu;
	r.sample = (struct record_sample){
		.period = period, .callchain = chain, .n_callchain = n,
	};
	if (n && chain[0] == (uint64_t)PERF_CONTEXT_KERNEL)
		r.misc = PERF_RECORD_MISC_KERNEL;
	for (size_t i = 0; i < n && !r.sample.ip; i++)
		if (chain[i] < (uint64_t)PERF_CONTEXT_MAX)
			r.sample.ip = chain[i];
	engine_feed(g, &r);
}

static inline void feed_sample(struct engine *g, uint32_t pid, uint32_t tid, uint32_t event,
			       uint64_t period, const uint64_t *chain, size_t n)
{
	feed_sample_on(g, 0, pid, tid, event, period, chain, n);
}

#endif
