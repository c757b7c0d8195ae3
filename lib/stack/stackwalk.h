#ifndef CPROF_STACK_STACKWALK_H
#define CPROF_STACK_STACKWALK_H

/*
 * From the addresses of one sample to an interned stack.  The only place where a
 * return address is turned into the address of its call.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stackmark.h"
#include "stack/userstack.h"

struct budget;
struct dso_table;
struct frames;
struct host;
struct procs_space;
struct procs_thread;
struct record;
struct stacks;
struct strtab;

/* Names of the frames that stand for no code (dso.h, DSO_PSEUDO). */
#define STACKWALK_TRUNCATED "[truncated]"
#define STACKWALK_DROPPED "[stacks dropped: memory limit]"
#define STACKWALK_SHORTENED "[callees dropped: memory limit]"
#define STACKWALK_LOST "[lost samples]"
#define STACKWALK_UNKNOWN "[unknown]"
#define STACKWALK_GUEST "[guest]"

struct stackwalk_stats {
	uint64_t n_truncated; /* deeper than the kernel's limit, the copy, or max_depth */
	uint64_t n_cut;         /* ended before the root for another reason */
	uint64_t n_unknown;     /* the sampled address itself lay in no mapping */
	uint64_t n_shortened;   /* callees left out: memory limit */
	uint64_t n_dropped;     /* only in STACKWALK_DROPPED: memory limit */
};

/* The outer part of a thread's last stack, root first, so that an unchanged part
 * needs no look-up.  Charged to the budget. */
struct stackwalk_memo {
	uint32_t n, cap;
	uint32_t serial;        /* of the address space that the pcs were looked up in */
	uint32_t start;         /* node below the first entry */
	struct stackwalk_entry { uint64_t pc; uint32_t node; } entry[];
};

struct stackwalk {
	struct budget *budget;
	struct dso_table *dsos;
	struct frames *frames;
	struct stacks *stacks;
	struct strtab *strings;
	struct userstack user;           /* user stacks by registers and stack copies */
	struct stackwalk_cached *cache;  /* pc -> frame, direct-mapped */
	uint64_t *pc;                    /* root first: scratch for one sample */
	uint32_t *frame;                 /* frames ids, likewise */
	bool *is_kernel;                 /* likewise */
	uint32_t max_stack;              /* kernel.perf_event_max_stack; 0: unknown */
	uint32_t max_branches;           /* calls that the CPU can record; 0: unknown */
	uint32_t kernel_dso, pseudo_dso;
	uint32_t truncated, dropped, shortened, lost, unknown, guest;  /* frames */
	struct stackwalk_stats stats;
	/* Of the last stack by CFI. */
	bool is_whole, is_beyond;
	bool is_not_unwound;             /* private: of a kind of code that is not */
	struct stackmark mark;
	uint64_t cut_pc, cut_cfa;        /* as in struct latejoin_cut; 0: not cut, or not known */
	const struct unwind_frame *cut_frame; /* its frames, innermost first, until the next one */
	uint32_t n_cut_frames;
};

/* The tables are borrowed; machine as uname -m says, of the machine that was recorded; host and
 * max_depth as in userstack_init.  -ENOMEM. */
int stackwalk_init(struct stackwalk *w, struct budget *budget, struct dso_table *dsos,
		   struct frames *frames, struct stacks *stacks, struct strtab *strings,
		   const struct host *host, uint32_t max_stack, const char *machine,
		   uint32_t max_depth);
void stackwalk_done(struct stackwalk *w);

/* From now on frames and stacks are these: what was remembered of the old ones goes.  With stacks
 * NULL only makes the pseudo frames in frames, which must be new.  False: no memory. */
bool stackwalk_move(struct stackwalk *w, struct frames *frames, struct stacks *stacks);

/*
 * The stack of SAMPLE r in the given address space: never STACKS_NONE.  *memo (may point to
 * NULL) is the thread's, replaced when it grows.
 */
uint32_t stackwalk_sample(struct stackwalk *w, struct procs_space *space,
			  struct stackwalk_memo **memo, const struct record *r);

/* m may be NULL; budget is the one it was charged to. */
void stackwalk_memo_free(struct stackwalk_memo *m, struct budget *budget);

/*
 * The same for a SAMPLE with user registers: the kernel's part from its call chain, the user's
 * by CFI.  memos are the thread's, or NULL.
 */
uint32_t stackwalk_sample_cfi(struct stackwalk *w, struct procs_space *space,
			      struct userstack_memos *memos, const struct record *r);

/* The stack that consists of one pseudo frame. */
uint32_t stackwalk_pseudo(struct stackwalk *w, uint32_t frame);

#endif
