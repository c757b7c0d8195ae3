#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_H

/*
 * From registers and a copy of the stack to the pcs of all frames: by CFI, and where a module has
 * none, by its code or the frame pointer.  The unwinder knows no pid and opens no file: modules
 * come from a callback, which is called only when a rule is not in the cache.  Nothing is allocated
 * once tables and memos have grown.  All architectures of arch.h are unwound on any machine.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/cfi/cfi-run.h"
#include "symbolize/runtime/module.h"

struct cfi;
struct unwind;
/* User registers by DWARF number; x86-64: 16 is the pc; arm64: 31 sp, 32 pc. */
struct unwind_regs {
	uint64_t r[ARCH_REGS_MAX];
	uint64_t valid;                 /* bit n: r[n] is known */
};

/* Registers as perf samples them: one value per bit of mask, in <asm/perf_regs.h>'s order. */
void unwind_regs_from_perf(const struct arch *arch, uint64_t mask, const uint64_t *values,
			   struct unwind_regs *ret);

struct unwind_options {
	const struct arch *arch;
	module_find *find_module;
	module_read_code *read_code;    /* NULL: never */
	uint32_t max_depth;             /* frames; 0: UNWIND_DEPTH_DEFAULT */
	uint32_t n_cache;               /* cached rules, rounded up to a power of two; 0: default */
	void *cache;                    /* unwind_cache_bytes(n_cache) zeros for them, until
					 * unwind_free; NULL: allocated */
};
#define UNWIND_DEPTH_DEFAULT 1024u
#define UNWIND_CACHE_DEFAULT 16384u

struct unwind_input {
	const struct unwind_regs *regs;
	const uint8_t *stack;           /* copy of the memory from sp upwards; NULL: none */
	uint64_t n_stack_bytes;         /* size of the copy */
	void *ctx;                      /* of the address space, for find_module */
	uint64_t space;                 /* serial of the address space and of its state: a new
	                                 * number after every change of executable mappings */
	bool is_long;                   /* longer than its copy: the rest was read from memory */
	bool is_probe;                  /* do not change the memo */
};

enum unwind_end {
	UNWIND_ROOT,            /* the outermost frame was reached */
	UNWIND_BEYOND,          /* the next frame is beyond the copy, which was too short */
	UNWIND_NO_CFI,          /* no CFI at the last frame, and no chain of frame pointers */
	UNWIND_BAD_CFI,         /* malformed, or it depends on an unknown register */
	UNWIND_BAD_PC,          /* the return address is in no executable mapping */
	UNWIND_BAD_SP,          /* the stack pointer left the copy downwards: another stack */
	UNWIND_CYCLE,           /* the next frame is not further out than this one */
	UNWIND_DEPTH,           /* max_depth frames */
	UNWIND_NO_REGS,         /* no user registers: pc or sp unknown */
	UNWIND_NO_STACK,        /* never by unwind_stack: nothing could be copied */
	UNWIND_NO_FP,           /* the last frame needs the frame pointer: not in regs->valid */
	UNWIND_N_ENDS
};

#define UNWIND_FRAME_EXACT 1u   /* pc was interrupted; else pc is a return address */
#define UNWIND_FRAME_HEURISTIC 2u /* found by the code or the frame pointer, without CFI */
#define UNWIND_FRAME_JOINED 4u  /* from the thread's previous stack, not from the copy */
#define UNWIND_FRAME_SIGNAL 8u  /* the kernel's signal trampoline */
#define UNWIND_FRAME_CHAINED 64u /* HEURISTIC by the frame pointer of JIT code, which keeps it */
#define UNWIND_STEP_SLOTS 16u   /* private: the step outwards read the caller's sp + ra_off8 * 8 */
#define UNWIND_STEP_FP 32u      /* private: and the word at fp_off8 */
#define UNWIND_FRAME_BYTECODE 512u /* never by unwind_stack: pc is no code, stack-bytecode.h */
#define UNWIND_FRAME_SWITCH 256u /* the root of its stack, called from another: runtime_caller */
#define UNWIND_STEP_NONE 128u   /* private: no step outwards, by the rule for pc */

struct unwind_frame {
	uint64_t pc, sp, fp;            /* in the process, while this frame runs */
	union { struct { int16_t ra_off8, fp_off8; }; uint32_t both_off8; }; /* private: slots */
	uint32_t flags;                 /* UNWIND_FRAME_* */
};

struct unwind_result {
	const struct unwind_frame *frame;       /* innermost first; until the next call */
	uint32_t n;                     /* 0 only with UNWIND_NO_REGS */
	uint32_t n_same;                /* outermost frames whose memo->caller_id is still valid */
	uint32_t n_joined;              /* outermost frames that are JOINED */
	enum unwind_end end;            /* of the part that was unwound: BEYOND when joined */
	bool is_whole;                  /* the outermost frame is a root, unwound or joined */
	bool is_kept;                   /* the memo now holds this stack */
	uint64_t cut_cfa;               /* not whole: the sp of the missing frame; 0: unknown */
};

/* Is the outermost frame known to have no caller, by its CFI or as the start of code?  Other roots
 * are assumed because of a return address of 0, which may be any word. */
static inline bool unwind_is_root_sure(const struct unwind_result *r)
{
	return r->end == UNWIND_ROOT && r->frame[r->n - 1].flags & UNWIND_STEP_NONE;
}

/*
 * A thread's last stack.  Zeroed at first; one per thread, owned by the caller.  caller_id is for
 * the caller: as many words as the stack has frames, outermost first.  After a call with is_kept,
 * words 0 .. n_same - 1 are as the caller left them and belong to the same outer frames; the caller
 * sets words n_same .. n - 1.
 */
struct unwind_memo {
	struct unwind_frame *frame;     /* outermost first */
	uint32_t *caller_id;
	uint32_t n, cap;
	uint32_t n_joined;              /* of the frames, as in struct unwind_result */
	uint32_t n_walked_bytes;        /* average part of the copies before they met the memo */
	uint32_t n_cut;                 /* incomplete stacks in a row, which were not kept */
	bool is_whole;                  /* as in struct unwind_result */
	bool is_long;                   /* whole, but longer than its copy: joined, or is_long */
	enum unwind_end end;
	uint64_t space;
};
void unwind_memo_done(struct unwind_memo *m);

struct unwind_stats {
	uint64_t n_stacks, n_frames, n_joined;  /* n_joined: stacks that were joined */
	uint64_t n_end[UNWIND_N_ENDS];  /* joined stacks count as BEYOND */
	uint64_t n_reused;              /* frames from a memo, with verified slots */
	uint64_t n_guessed;             /* steps by the frame pointer */
	uint64_t n_by_code;             /* steps by rules that were derived from the code */
	uint64_t n_misses;              /* rules not in the first cache: find_module was called */
	uint64_t n_searches;            /* nor in the second: the CFI was searched */
	uint64_t n_unusual;             /* steps by the full evaluator */
};

/* Memory for so many cached rules. */
size_t unwind_cache_bytes(uint32_t n_cache);

struct unwind *unwind_new(const struct unwind_options *o); /* NULL: no memory */
void unwind_free(struct unwind *u);

/* Unwinds one stack.  memo may be NULL. */
void unwind_stack(struct unwind *u, const struct unwind_input *in, struct unwind_memo *memo,
		  struct unwind_result *ret);

const struct unwind_stats *unwind_stats(const struct unwind *u);
/* "root" ... */
const char *unwind_end_name(enum unwind_end e);

#endif
