#ifndef CPROF_PROC_LIVECODE_PRIVATE_H
#define CPROF_PROC_LIVECODE_PRIVATE_H

/* Shared by livecode.c, livecode-proof.c and livecode-place.c, which use it with the lock held. */

#include "base/budget.h"
#include "base/vec.h"
#include "proc/livecode.h"
#include "proc/livepieces.h"
#include "proc/refused.h"
#include "symbolize/jit/jitcalls.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"

#include <pthread.h>

#define LIVECODE_TICK_NS_MAX 50000000u  /* of reading, between two ticks */
#define LIVECODE_UNKNOWN_N 64u
#define LIVECODE_RECENT_N LIVEPIECES_PROVE_MAX

enum livecode_state { LIVECODE_NEW, LIVECODE_OPEN, LIVECODE_REFUSED, LIVECODE_ENDED };

struct livecode_process {
	struct livecode *all;
	uint32_t pid;
	uint64_t start_ns;
	enum livecode_state state;
	uint32_t n_tries;
	bool is_denied;                 /* its memory may not be read */
	uint64_t tried_ns;
	uint64_t n_samples;             /* before it is OPEN */
	const struct runtime *runtime;
	struct runtime_code_program program;
	struct runtime_memory memory;
	struct livepieces pieces;
	struct jitcalls calls;
	uint64_t sampled_ns, changed_ns;        /* the last sample, the last new code */
	bool is_late;                   /* code was met too late for a sample, at late_tick */
	uint64_t late_tick;
	uint32_t n_renewals;            /* because of that */
	struct { uint64_t pc, tick; } unknown[LIVECODE_UNKNOWN_N];
	/* Pieces that were in a stack lately, by their start: those of the next samples, too. */
	struct { uint64_t start, tick; } recent[LIVECODE_RECENT_N];
	uint64_t recent_tick;           /* they were proven then */
	/* The runtime's number, and since when it is known to be the same. */
	uint64_t epoch, epoch_ns, epoch_read_tick;
	bool has_epoch;
};

struct livecode {
	pthread_mutex_t lock;
	const struct host *host;
	struct budget budget;           /* its own: engines in other threads use theirs */
	uint64_t tick, now_ns;
	uint64_t spent_ns;              /* since the tick */
	uint64_t began_ns;              /* 0: not yet */
	struct livecode_stats stats;
	struct refused refused;
	VEC(struct livecode_process *) process;
};

/* Reads the process's memory. */
struct runtime_code_source livecode_source(const struct livecode_process *p);

/* Counts the time since begin_ns. */
void livecode_add_cost(struct livecode *l, uint64_t begin_ns);

/* Reads the runtime's number, once in each tick unless is_due. */
void livecode_read_epoch(struct livecode_process *p, bool is_due);

/* Proves a piece that has code, and others with it if that costs little. */
void livecode_prove_one(struct livecode_process *p, struct livepiece *one);

#endif
