/*
 * Three kinds of steps: by a plain rule; by the frame pointer, in code that has no CFI; and the
 * last one.  What is not cached, not plain or not within bounds is left to unwind_step, which also
 * finds out what is wrong.  The values that the next step depends on stay in machine registers, and
 * so does what tells where the memo may have the frame.
 *
 * Tried and rejected: masks instead of branches for what a rule says of the frame pointer.  A
 * branch that was predicted need not wait for the rule: with masks a cold stack took a fifth more.
 */

#include "symbolize/unwind-fast.h"

#include <string.h>

/* Is the newest of n frames one of the memo's?  Else *ret_stop_sp is from where on to ask again. */
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
		if (s->n_met + 1 != n || s->k_met - 1 != k)
			s->from = n - 1;
		s->k = s->k_met = k;
		s->n_met = n;
		return true;
	}
	*ret_stop_sp = k >= 0 ? s->m[k].sp : UINT64_MAX;
	return false;
}

enum unwind_fast unwind_fast(const struct unwind_cache *by_pc, uint64_t salt,
			     struct unwind_walk *w, struct unwind_sync *s, uint64_t stop_sp)
{
	const uint64_t kinds = 0xff | CFI_FLAG_RA_REG << 8; /* of a rule as one word */
	const uint64_t sp0 = w->sp0, last_off = w->n_copy - 8, strip = unwind_strip(w->arch, ~0ull);
	const uint8_t *stack = w->in->stack;
	struct unwind_frame *frame = w->frame, *f = &frame[w->n - 1];
	const struct unwind_frame *last = frame + w->max_depth - 1;
	uint64_t pc = f->pc, sp = f->sp, fp = f->fp, back = !(f->flags & UNWIND_FRAME_EXACT);
	enum unwind_fast end = UNWIND_FAST_STUCK;
	if (stop_sp <= sp && fast_meets(s, f, w->n, &stop_sp))
		return UNWIND_FAST_MET;
	if (w->n_copy < 8)
		return UNWIND_FAST_STUCK;
	while (f < last) {
		const struct unwind_cache_entry *e =
			unwind_cache_get(by_pc, unwind_cache_key(salt, pc - back));
		if (!e)
			break;
		const struct cfi_rule *rule = &e->rule;
		uint64_t word, cfa, off, next_pc;
		uint32_t flags = UNWIND_STEP_SLOTS, next_flags = 0;
		int16_t ra_off8 = rule->ra_off8, fp_off8 = rule->fp_off8;
		memcpy(&word, rule, sizeof(word));
		if (__builtin_expect((word & kinds) == CFI_PLAIN, 1)) {
			cfa = (rule->flags & CFI_FLAG_CFA_FP ? fp : sp) +
				(uint64_t)(rule->cfa_off8 * 8l);
			off = cfa + (uint64_t)(ra_off8 * 8l) - sp0;
			if (cfa <= sp || off > last_off)
				break;
			memcpy(&next_pc, stack + off, 8);
			next_pc &= strip;
			if (!next_pc)
				break;
			uint64_t fp_at = cfa + (uint64_t)(fp_off8 * 8l);
			/* below sp: see unwind_step */
			if (rule->flags & CFI_FLAG_FP_SAVED && fp_at >= sp) {
				if (fp_at - sp0 > last_off)
					break;
				memcpy(&fp, stack + (fp_at - sp0), 8);
				flags |= UNWIND_STEP_FP;
			}
			if (__builtin_expect(rule->flags & CFI_FLAG_GUESSED, 0)) {
				next_flags = UNWIND_FRAME_GUESSED;
				w->stats->n_by_code++;
			}
		} else if (rule->kind == CFI_NONE && back) {
			/* by the frame pointer, if it leads to code that is known already */
			off = fp + 8 - sp0;
			if (fp & 7 || fp < sp || !fp || off > last_off)
				break;
			memcpy(&next_pc, stack + off, 8);
			next_pc &= strip;
			if (!unwind_cache_get(by_pc, unwind_cache_key(salt, next_pc - 1)))
				break;
			cfa = fp + 16;
			memcpy(&fp, stack + off - 8, 8);
			ra_off8 = -1;
			fp_off8 = -2;
			flags |= UNWIND_STEP_FP;
			next_flags = rule->flags & CFI_FLAG_MADE ?
				UNWIND_FRAME_GUESSED | UNWIND_FRAME_CHAINED : UNWIND_FRAME_GUESSED;
			w->stats->n_guessed++;
		} else {
			if (rule->kind == CFI_ROOT && !(rule->flags & CFI_FLAG_GUESSED))
				end = UNWIND_FAST_ROOT;
			break;
		}
		f->ra_off8 = ra_off8;
		f->fp_off8 = fp_off8;
		f->flags |= flags;
		pc = next_pc;
		s->walked_sp = sp = cfa;
		back = 1;
		*++f = (struct unwind_frame){ .pc = pc, .sp = sp, .fp = fp, .flags = next_flags };
		if (sp >= stop_sp && fast_meets(s, f, (uint32_t)(f - frame) + 1, &stop_sp)) {
			end = UNWIND_FAST_MET;
			break;
		}
	}
	w->n = (uint32_t)(f - frame) + 1;
	return end;
}
