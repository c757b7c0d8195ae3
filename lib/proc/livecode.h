#ifndef CPROF_PROC_LIVECODE_H
#define CPROF_PROC_LIVECODE_H

/*
 * JIT code that the runtime of a process describes in the process's memory: what is at an address
 * is read when the address is first met, within milliseconds after the sample, and is read again
 * before it is used later, because other code may take its place.
 *
 * All engines of a recording share one struct livecode, which locks itself.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi;
struct host;
struct jitcalls;
struct livecode;
struct livecode_process;
struct log;
struct runtime;
struct runtime_frame;

struct livecode_stats {
	uint32_t n_programs;            /* whose code is described, and read */
	uint32_t n_denied;              /* processes whose memory may not be read */
	uint32_t n_unsupported;         /* of a version that is not known */
	uint64_t n_refused;             /* samples of both */
	uint64_t n_codes, n_replaced;   /* pieces of code; those that took another one's place */
	uint64_t n_unknown;             /* addresses without code: too late, or it is full */
	uint64_t n_addresses;           /* with names */
	uint64_t n_late;                /* of n_unknown: code that may have come after the sample */
	uint64_t lag_ns;                /* from the samples to the first look at code, in total */
	uint64_t cost_ns;               /* time that reading took */
};

/* n_bytes_max: of memory; host is borrowed.  NULL: no memory. */
struct livecode *livecode_new(const struct host *host, uint64_t n_bytes_max);
void livecode_free(struct livecode *l);

/* The rings are about to be read: what was read before must be proven again. */
void livecode_tick(struct livecode *l, uint64_t now_ns);

/* When livecode_tick should be called again, in ms from now; -1: at any time.  Soon at first: a
 * runtime is only known when its process was sampled. */
int livecode_timeout_ms(struct livecode *l, uint64_t now_ns);

/* The process with that id that was first seen then; NULL: no memory. */
struct livecode_process *livecode_of(struct livecode *l, uint32_t pid, uint64_t start_ns);

/* Does the process still have to be opened, and is it time to try that? */
bool livecode_wants(const struct livecode_process *p);

/* It has a library of that runtime mapped with that bias.  c, of the library's file, is borrowed
 * during the call; NULL: its file cannot be read. */
void livecode_open(struct livecode_process *p, const struct runtime *runtime, struct cfi *c,
		   uint64_t bias);

/* The process has ended, or runs another program: its names stay. */
void livecode_end(struct livecode_process *p);

/* Call it before a sample of the process, of that time.  Returns a number that changes when
 * addresses have another meaning than before.  *ret_tick is that of livecode_tick, or a new one: a
 * sample that is newer proves nothing by what was read before it. */
uint32_t livecode_check(struct livecode_process *p, uint64_t time_ns, uint64_t *ret_tick);

/* Proves the code at n addresses of a sample, once in each tick.  Returns the number of
 * livecode_check: it also changes if another engine has found out that some code is gone. */
uint32_t livecode_prove(struct livecode_process *p, const uint64_t *pc, size_t n);

struct livecode_place {
	uint64_t start, n_bytes;        /* of the code */
	uint32_t layer;                 /* of jitcalls.h */
	uint32_t frame_words, body_off; /* as in struct runtime_code */
};

/* Finds the code that was at pc at that time, and what it is called.  False: it is not known. */
bool livecode_at(struct livecode_process *p, uint64_t pc, uint64_t time_ns,
		 struct livecode_place *ret);

/* The same without what it is called. */
bool livecode_find(struct livecode_process *p, uint64_t pc, uint64_t time_ns,
		   struct livecode_place *ret);

/* Are there frames whose pc does not say which function they execute? */
bool livecode_has_frames(const struct livecode_process *p);

/* Finds those among n frames of a sample of that time, and sets their pc to one that says it, if
 * that has a name.  False: some code is not what it was. */
bool livecode_frames(struct livecode_process *p, uint64_t time_ns, struct runtime_frame *frame,
		     size_t n);

/* Copies up to n_bytes of the code at pc, as livepieces_read. */
size_t livecode_read(struct livecode_process *p, uint64_t pc, void *buf, size_t n_bytes);

/* What its addresses are called; only while no samples are taken. */
const struct jitcalls *livecode_calls(const struct livecode_process *p);

struct livecode_stats livecode_stats(struct livecode *l);

/* One line for all processes whose code could not be named, and why. */
void livecode_explain(struct livecode *l, const struct log *log);

#endif
