#ifndef CPROF_STACK_STACK_WALK_H
#define CPROF_STACK_STACK_WALK_H

/*
 * From the addresses of one sample to an interned stack.  Only here a return address
 * is adjusted to the address of its call: in stack-chain.c and stack-walk-cfi.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stack/stack-bytecode.h"
#include "stack/stack-known.h"
#include "stack/stack-marks.h"
#include "stack/stack-user.h"

struct budget;
struct dso_table;
struct counts;
struct frames;
struct host;
struct procs_space;
struct procs_thread;
struct record;
struct stacks;
struct strtab;

/* Names of pseudo frames, which are not code (dso.h, DSO_PSEUDO). */
#define STACK_WALK_TRUNCATED "[truncated]"
#define STACK_WALK_DROPPED "[stacks dropped: memory limit]"
#define STACK_WALK_SHORTENED "[callees dropped: memory limit]"
#define STACK_WALK_LOST "[lost samples]"
#define STACK_WALK_UNKNOWN "[unknown]"
#define STACK_WALK_GUEST "[guest]"
#define STACK_WALK_NO_STACK "[no stack]"

struct stack_walk_stats {
	uint64_t n_truncated;   /* deeper than the kernel's limit, the copy, or max_depth */
	uint64_t n_cut;         /* ended before the root for another reason */
	uint64_t n_unknown;     /* the sampled address itself was in no mapping */
	uint64_t n_shortened;   /* without callees: memory limit */
	uint64_t n_dropped;     /* counted as STACK_WALK_DROPPED: memory limit */
};

/* The outer part of a thread's last stack, root first, so that an unchanged part needs no look-up.
 * Charged to the budget.  Not a VEC: one allocation per thread, the entries after the head. */
struct stack_walk_memo {
	uint32_t n, cap;
	uint32_t serial;        /* of the address space that the pcs were looked up in */
	uint32_t start;         /* node below the first entry */
	struct stack_walk_entry { uint64_t pc; uint32_t node; } entry[];
};

struct stack_walk {
	struct budget *budget;
	struct dso_table *dsos;
	struct frames *frames;
	struct stacks *stacks;
	struct strtab *strings;
	struct stack_user user;           /* user stacks by registers and stack copies */
	void *tables;                     /* memory of the tables below and of cached rules */
	uint32_t n_before_join;           /* samples until it gets huge pages; 0: it has them */
	struct stack_walk_cached *cache;  /* pc -> frame, direct-mapped */
	struct stack_walk_alone *alone;   /* frame -> stack, likewise */
	struct stack_known known;         /* stacks by CFI */
	struct stack_bytecode *bytecode;  /* private; NULL: not needed yet */
	uint64_t *pc;                    /* root first: scratch for one sample */
	uint32_t *frame;                 /* frames ids, likewise */
	bool *is_kernel;                 /* likewise */
	uint32_t max_stack;              /* kernel.perf_event_max_stack; 0: unknown */
	uint32_t max_branches;           /* calls that the CPU can record; 0: unknown */
	uint32_t kernel_dso, pseudo_dso;
	uint32_t truncated, dropped, shortened, lost, unknown, guest, no_stack;  /* frames */
	struct stack_walk_stats stats;
	/* The caller's: what the stacks will be counted in, which is loaded in advance, and with
	 * which labels.  counts may be NULL. */
	const struct counts *counts;
	uint32_t labels;
	/* For counts_add_near: that of the last stack by CFI, or NULL; and of the last count. */
	uint32_t *place, last_place;
	/* Of the last stack by CFI. */
	bool is_whole, is_beyond;
	bool is_not_unwound;             /* private: the code is of an unsupported kind */
	struct stack_marks mark;
	uint64_t cut_pc, cut_cfa; /* as in struct stack_patchlater_cut; 0: whole, or unknown */
	const struct unwind_frame *cut_frame; /* its frames, innermost first, until the next one */
	uint32_t n_cut_frames;
};

/* The tables are borrowed.  machine is that of the recording, as in uname -m; host and max_depth
 * are as in stack_user_init.  -ENOMEM. */
int stack_walk_init(struct stack_walk *w, struct budget *budget, struct dso_table *dsos,
		    struct frames *frames, struct stacks *stacks, struct strtab *strings,
		    const struct host *host, uint32_t max_stack, const char *machine,
		    uint32_t max_depth);
void stack_walk_done(struct stack_walk *w);

/* Replaces the tables of frames and stacks and forgets what was remembered of the old ones.  With
 * stacks NULL only adds the pseudo frames to frames, which must be new.  False: no memory. */
bool stack_walk_move(struct stack_walk *w, struct frames *frames, struct stacks *stacks);

/*
 * The stack of SAMPLE r in the given address space, never STACKS_NONE.  *memo, which may be NULL,
 * is the thread's and is replaced when it grows.
 */
uint32_t stack_walk_sample(struct stack_walk *w, struct procs_space *space,
			   struct stack_walk_memo **memo, const struct record *r);

/* m may be NULL; budget is the one that it was charged to. */
void stack_walk_memo_free(struct stack_walk_memo *m, struct budget *budget);

/*
 * The same for a SAMPLE with user registers: the kernel's part comes from its callchain, the user's
 * part from CFI.  memos are the thread's, or NULL.
 */
uint32_t stack_walk_sample_cfi(struct stack_walk *w, struct procs_space *space,
			       struct stack_user_memos *memos, const struct record *r);

/* Corrects the statistics after truncated stacks were completed: n_beyond of them were counted
 * as n_truncated, and n_cut as n_cut. */
void stack_walk_count_completed(struct stack_walk *w, uint32_t n_beyond, uint32_t n_cut);

/* The stack that consists of one pseudo frame. */
uint32_t stack_walk_pseudo(struct stack_walk *w, uint32_t frame);

#endif
