#ifndef CPROF_SYMBOLIZE_UNWIND_UNWIND_SLOW_H
#define CPROF_SYMBOLIZE_UNWIND_UNWIND_SLOW_H

/*
 * The unwinder's steps that an 8-byte rule cannot express: unusual CFI, signal frames, the frame
 * pointer.  Only the unwinder uses this.
 */

#include "symbolize/cfi/cfi.h"
#include "symbolize/unwind/unwind.h"

/* One stack being unwound. */
struct unwind_walk {
	const struct arch *arch;
	uint64_t pc_mask;               /* of arch */
	uint32_t max_depth;
	const struct unwind_input *in;
	module_find *find_module;
	module_read_code *read_code;
	struct unwind_stats *stats;
	struct unwind_frame *frame;     /* n of them, and room for one more */
	uint32_t n;
	uint64_t sp0;                   /* address of the copy's first byte */
	uint64_t n_copy;                /* bytes of the copy */
	uint32_t n_evals;               /* rules evaluated for one stack; bounded */
	uint32_t n_program_bytes;       /* CFA program run for one stack; bounded */
	uint32_t n_signals;             /* signal frames met; bounded */
	bool is_cfa_known;              /* where a step failed: cfa is the CFA that it computed */
	bool is_gone;                   /* and the frame there was overwritten, not bad */
	bool is_throwing;               /* a frame is about to transfer control to a handler */
	uint64_t cfa;
	struct unwind_call_cache *calls;
	struct unwind_code_opens *open_codes;
};

/* Bytes of CFA programs run for one stack: a thousand realigned frames take some 100 KB. */
#define UNWIND_PROGRAM_BYTES_MAX (1u << 20)

/* The result of a step. */
enum unwind_step {
	UNWIND_STEP_DONE = -1,          /* frame[n] is set, n is not incremented yet */
	/* else an enum unwind_end */
};

/* A return address without its pointer authentication code. */
static inline uint64_t unwind_strip(const struct unwind_walk *w, uint64_t pc)
{
	return pc & w->pc_mask;
}

/* The flags of a frame that is a root by that rule. */
static inline uint32_t unwind_root_flags(const struct cfi_rule *rule)
{
	return UNWIND_STEP_NONE | (rule->flags & CFI_FLAG_SWITCH ? UNWIND_FRAME_SWITCH : 0);
}

/* The word at address `at`, if the copy contains it. */
static inline bool unwind_load(const struct unwind_walk *w, uint64_t at, uint64_t *ret)
{
	uint64_t off = at - w->sp0;
	if (off >= w->n_copy || w->n_copy - off < 8)
		return false;
	__builtin_memcpy(ret, w->in->stack + off, 8);
	return true;
}

/* May fp be the frame pointer of a frame beyond the copy?  In code without CFI it may be any
 * number. */
#define UNWIND_GUESS_BYTES_MAX (1ull << 20)
static inline bool unwind_is_near_copy(const struct unwind_walk *w, uint64_t fp)
{
	return fp - w->sp0 < w->n_copy + UNWIND_GUESS_BYTES_MAX;
}

/* Does the newest frame have no known frame pointer?  It was not sampled, and no frame so far has
 * saved it. */
static inline bool unwind_lacks_fp(const struct unwind_walk *w)
{
	return !(w->in->regs->valid >> w->arch->fp & 1) && w->frame[w->n - 1].fp == 0;
}

/* Why address `at` could not be loaded. */
enum unwind_end unwind_outside(const struct unwind_walk *w, uint64_t at);

/* Steps by the kernel's signal frame, by the full rules, by the frame pointer: an enum
 * unwind_end, or UNWIND_STEP_DONE. */
int unwind_slow_sigreturn(struct unwind_walk *w);
int unwind_slow_unusual(struct unwind_walk *w, const struct cfi_rule *rule);
int unwind_slow_guess(struct unwind_walk *w, bool is_jit);

/* The newest frame's link register; false: unknown, or the architecture has none. */
bool unwind_slow_link(struct unwind_walk *w, uint64_t *ret);

#endif
