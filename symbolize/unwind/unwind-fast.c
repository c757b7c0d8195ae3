/*
 * There are three kinds of steps: by a plain rule; by the frame pointer, in code without CFI; and
 * the last one.  Anything that is not cached, not plain or out of bounds is left to unwind_step,
 * which also finds the reason.
 *
 * A hot step takes as long as its dependency chain: pc, cache entry, its offsets, slot of the
 * return address, next pc.  The code keeps that chain short:
 *
 * - The copy's address and the slot's offset are added outside of it.
 * - The byte before a return address is subtracted from the salt instead of the pc.
 * - Nothing is written and read again.
 * - Bits that no return address of the architecture carries are not cleared.
 * - Both offsets are stored in the frame as one word, because compilers otherwise load them as a
 *   vector, which the chain would wait for.
 *
 * Masks instead of branches for the frame pointer were tried: a cold stack took a fifth longer,
 * because a predicted branch need not wait for the rule.
 */

#include "symbolize/unwind/unwind-fast.h"

#include "symbolize/runtime/runtime.h"

#include <string.h>

/* Is the newest of n frames one of the memo's?  If not, *ret_stop_sp is the next stack pointer at
 * which one may be. */
static inline bool fast_meets(struct unwind_sync *s, const struct unwind_frame *f, uint32_t n,
			      uint64_t *ret_stop_sp)
{
	int64_t k = s->k;
	while (k >= 0 && s->m[k].sp < f->sp)
		k--;
	s->k = k;
	for (; k >= 0 && s->m[k].sp == f->sp; k--) {
		const struct unwind_frame *m = &s->m[k];
		if (m->pc != f->pc || m->fp != f->fp ||
		    ((m->flags ^ f->flags) & UNWIND_FRAME_EXACT))
			continue;
		/* Found in another way, it is a new frame, and the memo takes its flags. */
		if ((m->flags ^ f->flags) & (UNWIND_FRAME_HEURISTIC | UNWIND_FRAME_CHAINED))
			s->from = n;
		else if (s->n_met + 1 != n || s->k_met - 1 != k)
			s->from = n - 1;
		s->k = s->k_met = k;
		s->n_met = n;
		return true;
	}
	*ret_stop_sp = k >= 0 ? s->m[k].sp : UINT64_MAX;
	return false;
}

static inline uint64_t fast_word(uint64_t at)
{
	uint64_t x;
	memcpy(&x, (const void *)(uintptr_t)at, sizeof(x));
	return x;
}

/* Does a caller that was found by the frame pointer have another stack pointer than the end of the
 * two slots?  See slow_sp_by_fp. */
static inline bool fast_lacks_sp(const struct unwind_walk *w, const struct cfi_rule *rule,
				 const struct cfi_rule *caller)
{
	return !arch_pushes_ra(w->arch) && !(rule->flags & CFI_FLAG_JIT) &&
	       caller->kind == CFI_PLAIN && !(caller->flags & CFI_FLAG_CFA_FP);
}

/* strip: the bits of a return address that are address. */
static inline enum unwind_fast __attribute__((always_inline))
fast_walk(const struct unwind_cache *by_pc, uint64_t salt, struct unwind_walk *w,
	  struct unwind_sync *s, uint64_t stop_sp, const uint64_t strip)
{
	/* of a rule as one word */
	const uint64_t kinds = 0xff | (CFI_FLAG_RA_REG | CFI_FLAG_INTERRUPTED) << 8;
	const uint64_t sp0 = w->sp0, last_off = w->n_copy - 8;
	const uint64_t moved = (uint64_t)(uintptr_t)w->in->stack - sp0; /* from stack to copy */
	const struct unwind_frame *last = w->frame + w->max_depth - 1;
	struct unwind_frame *f = &w->frame[w->n - 1];
	uint64_t pc = f->pc, sp = f->sp, fp = f->fp;
	uint64_t back_salt = salt - !(f->flags & UNWIND_FRAME_EXACT);
	enum unwind_fast end = UNWIND_FAST_STUCK;
	while (f < last) {
		const struct unwind_cache_entry *e =
			unwind_cache_get(by_pc, unwind_cache_key(back_salt, pc));
		if (!e)
			break;
		const struct cfi_rule *rule = &e->rule;
		uint64_t word, cfa, next_pc;
		uint32_t flags = UNWIND_STEP_SLOTS, next_flags = 0, both_off8 = rule->both_off8;
		memcpy(&word, rule, sizeof(word));
		if (__builtin_expect((word & kinds) == CFI_PLAIN, 1)) {
			uint64_t ra_off = (uint64_t)(rule->ra_off8 * 8l);
			cfa = (rule->flags & CFI_FLAG_CFA_FP ? fp : sp) +
				(uint64_t)(rule->cfa_off8 * 8l);
			if (cfa <= sp || cfa + (ra_off - sp0) > last_off)
				break;
			next_pc = fast_word(cfa + (ra_off + moved)) & strip;
			if (!next_pc)
				break;
			uint64_t fp_at = cfa + (uint64_t)(rule->fp_off8 * 8l);
			/* below sp: see unwind_step */
			if (rule->flags & CFI_FLAG_FP_SAVED && fp_at >= sp) {
				if (fp_at - sp0 > last_off)
					break;
				fp = fast_word(fp_at + moved);
				flags |= UNWIND_STEP_FP;
			}
			if (__builtin_expect(rule->flags & CFI_FLAG_HEURISTIC, 0)) {
				/* JIT code may have been replaced: see unwind_step */
				if (rule->flags & CFI_FLAG_JIT &&
				    !unwind_cache_get(by_pc, unwind_cache_key(salt - 1, next_pc)))
					break;
				next_flags = UNWIND_FRAME_HEURISTIC;
				w->stats->n_by_code++;
			}
		} else if (rule->kind == CFI_NONE && back_salt != salt) {
			/* by the frame pointer, if it leads to code that is already known */
			const struct cfi_rule *by_fp = &w->arch->by_fp;
			struct cfi_slots at = cfi_slots(by_fp, fp);
			if (fp & 7 || at.fp < sp || !fp || at.fp - sp0 > last_off ||
			    at.ra - sp0 > last_off)
				break;
			next_pc = fast_word(at.ra + moved) & strip;
			const struct unwind_cache_entry *next =
				unwind_cache_get(by_pc, unwind_cache_key(back_salt, next_pc));
			if (!next || fast_lacks_sp(w, rule, &next->rule))
				break;
			/* perhaps an interpreter's frame: see unwind_code_interpreter_sp */
			if (rule->flags & CFI_FLAG_JIT && at.fp > sp &&
			    at.fp - 8 - sp0 <= last_off &&
			    runtime_is_moved_sp(fast_word(at.fp - 8 + moved), at.cfa))
				break;
			cfa = at.cfa;
			fp = fast_word(at.fp + moved);
			both_off8 = by_fp->both_off8;
			flags |= UNWIND_STEP_FP;
			next_flags = rule->flags & CFI_FLAG_JIT ?
				UNWIND_FRAME_HEURISTIC | UNWIND_FRAME_CHAINED :
				UNWIND_FRAME_HEURISTIC;
			w->stats->n_guessed++;
		} else {
			if (rule->kind == CFI_ROOT && !(rule->flags & CFI_FLAG_HEURISTIC)) {
				f->flags |= unwind_root_flags(rule);
				end = UNWIND_FAST_ROOT;
			}
			break;
		}
		f->both_off8 = both_off8;
		f->flags |= flags;
		pc = next_pc;
		s->walked_sp = sp = cfa;
		back_salt = salt - 1;
		f++;
		f->pc = pc;
		f->sp = sp;
		f->fp = fp;
		f->flags = next_flags; /* both_off8: by the next step, or below */
		if (sp >= stop_sp && fast_meets(s, f, (uint32_t)(f - w->frame) + 1, &stop_sp)) {
			end = UNWIND_FAST_MET;
			break;
		}
	}
	f->both_off8 = 0;
	w->n = (uint32_t)(f - w->frame) + 1;
	return end;
}

enum unwind_fast unwind_fast(const struct unwind_cache *by_pc, uint64_t salt,
			     struct unwind_walk *w, struct unwind_sync *s, uint64_t stop_sp)
{
	const struct unwind_frame *f = &w->frame[w->n - 1];
	if (stop_sp <= f->sp && fast_meets(s, f, w->n, &stop_sp))
		return UNWIND_FAST_MET;
	if (w->n_copy < 8)
		return UNWIND_FAST_STUCK;
	/* with nothing to clear, the compiler leaves that out of the chain */
	return w->pc_mask == ~0ull ? fast_walk(by_pc, salt, w, s, stop_sp, ~0ull) :
				     fast_walk(by_pc, salt, w, s, stop_sp, w->pc_mask);
}
