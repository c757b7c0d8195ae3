/*
 * Unwinding a stack is a chain of steps: look up the rule of the frame's pc, compute the CFA, load
 * the return address and perhaps the frame pointer.  Three things make that fast:
 *
 * - Rules of 8 bytes in a set-associative cache by (pc, address space).  Behind it is a second
 *   cache by (file, vaddr), so that new processes and changed mappings find the rules that were
 *   already read from a file's CFI.  A miss in both costs a search of .eh_frame_hdr and one run of
 *   an FDE.  Keys are 64-bit hashes that are treated as addresses: see unwind-cache.h.
 *
 * - The memo.  A step is a chain of dependent loads (sp, rule, return address, sp ...).  The
 *   thread's previous stack usually shares its outer frames with this one.  When a frame equals
 *   one of the memo in (pc, sp, fp), the following frames must be equal, too, if the slots that
 *   their steps read still hold the same words.  These compares do not depend on one another, so
 *   the CPU overlaps their cache misses.  The first slot that differs ends the reuse, and steps
 *   continue as usual.  A step that read anything but its two slots (unusual rules, signal frames)
 *   is never reused but done again.
 *
 * - Nothing is prepared when a module is mapped; see cfi.c.
 *
 * Where a module has no CFI, a rule is derived from the code (cfi-code.c) and cached like any other
 * once the stack has confirmed it.  Where that fails, each step uses the frame pointer.  Both
 * kinds of steps mark the frame that they find as HEURISTIC.
 *
 * The memo also lengthens stacks that the copy truncates.  When a step leads beyond the copy, and
 * the memo has exactly this frame, or a frame at the CFA whose callee was the same function, the
 * memo's outer frames are added unverified and marked JOINED.  That is why a memo that has reached
 * the root outlives a few stacks that end early.
 *
 * Tried and rejected: whole tables per module at load (5 times the CPU, and hundreds of
 * samples lost meanwhile); prefetching the whole copy (half the speed on shallow stacks).
 */

#include "symbolize/unwind/unwind.h"

#include "symbolize/runtime/runtime-file.h"
#include "symbolize/unwind/unwind-call.h"
#include "symbolize/unwind/unwind-code.h"
#include "symbolize/unwind/unwind-fast.h"
#include "symbolize/unwind/unwind-slow.h"

#include <stdlib.h>
#include <sys/mman.h>

/* How much of the copy is prefetched before the first step.  Each of the first steps waits for the
 * one before it, so without a prefetch they wait for memory several times instead of once.  Twelve
 * cache lines made shallow stacks (10 frames) twice as fast; the whole copy made them half as fast.
 * Where the thread's last stacks were walked far before they met the memo, as clang's are,
 * prefetching that far saves a third of the time. */
#define AHEAD_BYTES 768u
#define AHEAD_FAR_BYTES 2048u

/* How many outermost frames of a stack may be remains of a function that has switched stacks. */
#define UNWIND_SWITCH_FRAMES 8u

struct unwind {
	struct unwind_options o;
	struct unwind_cache by_pc, by_file;
	struct unwind_call_cache calls;
	struct unwind_code_opens open_codes;
	struct unwind_frame *frame;     /* max_depth + 1 */
	struct unwind_stats stats;
};

/* ---- rules -------------------------------------------------------------------------- */

static uint32_t cache_entries(uint32_t n_cache)
{
	uint32_t want = n_cache ? n_cache : UNWIND_CACHE_DEFAULT, n = 16;
	while (n < want && n < 1u << 24)
		n *= 2;
	return n;
}

/* For two caches. */
size_t unwind_cache_bytes(uint32_t n_cache)
{
	return 2 * sizeof(struct unwind_cache_entry) * cache_entries(n_cache);
}

static bool caches_init(struct unwind *u)
{
	size_t n_bytes = unwind_cache_bytes(u->o.n_cache), n = cache_entries(u->o.n_cache);
	struct unwind_cache_entry *v = u->o.cache;
	if (!v) {
		/* aligned to a set, and without a write: short recordings use few pages of it */
		void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			       -1, 0);
		if (p == MAP_FAILED)
			return false;
		v = p;
	}
	u->by_pc = (struct unwind_cache){ .v = v, .mask = n - 1 };
	u->by_file = (struct unwind_cache){ .v = v + n, .mask = n - 1 };
	return true;
}

static void caches_done(struct unwind *u)
{
	if (u->by_pc.v && !u->o.cache)
		munmap(u->by_pc.v, unwind_cache_bytes(u->o.n_cache));
}

/* Searches the CFI.  The work for one stack is bounded, as CFI may be hostile; the rule that was
 * found is known for the next stack. */
static struct cfi_rule unwind_search(struct unwind_walk *w, const struct module *m,
				     uint64_t vaddr, bool *ret_is_too_much)
{
	struct cfi_rule rule;
	uint64_t before = m->cfi->n_bytes_run;
	runtime_file_rule(m, vaddr, &rule);
	if (rule.kind == CFI_PLAIN)
		unwind_code_amend(w, m, &rule);
	w->n_program_bytes += (uint32_t)(m->cfi->n_bytes_run - before);
	*ret_is_too_much = w->n_program_bytes > UNWIND_PROGRAM_BYTES_MAX;
	return rule;
}

/* Finds the rule for lookup address `at` in the second cache or in the CFI.  Kind CFI_EMPTY when
 * nothing is mapped there; that is not cached, since a mapping may be reported late. */
static struct cfi_rule __attribute__((noinline))
unwind_miss(struct unwind *u, struct unwind_walk *w, uint64_t at, uint64_t key)
{
	struct cfi_rule rule = { .kind = CFI_NONE };
	struct module m;
	bool is_final = true, is_too_much = false;
	u->stats.n_misses++;
	if (!u->o.find_module(w->in->ctx, at, &m))
		return (struct cfi_rule){ .kind = CFI_EMPTY };
	if (m.cfi && m.cfi->arch == u->o.arch) {
		uint64_t file_key = unwind_cache_key(unwind_cache_salt(m.id), at - m.bias);
		const struct unwind_cache_entry *f = unwind_cache_get(&u->by_file, file_key);
		if (f) {
			rule = f->rule;
		} else {
			u->stats.n_searches++;
			rule = unwind_search(w, &m, at - m.bias, &is_too_much);
		}
		if (rule.kind == CFI_NONE && (!f || rule.flags & CFI_FLAG_OPEN)) {
			rule = unwind_code_rule(w, &m, &is_final);
			rule.flags |= is_final ? 0 : CFI_FLAG_OPEN;
		}
		if (!f || (is_final && f->rule.kind == CFI_NONE && f->rule.flags & CFI_FLAG_OPEN))
			unwind_cache_put(&u->by_file, file_key, rule);
		if (is_too_much)
			return (struct cfi_rule){ .kind = CFI_BAD };
		if (!is_final)
			return rule;
	} else {
		if (u->o.read_code)
			rule = unwind_code_rule(w, &m, &is_final);
		if (rule.kind == CFI_NONE && m.is_jit)
			rule.flags = CFI_FLAG_JIT;
		if (!is_final)
			return rule;
	}
	unwind_cache_put(&u->by_pc, key, rule);
	return rule;
}

/* ---- steps ---------------------------------------------------------------------------- */

/* Steps of all kinds but the plain one. */
static int __attribute__((noinline))
unwind_other(struct unwind_walk *w, const struct cfi_rule *rule)
{
	struct unwind_frame *f = &w->frame[w->n - 1];
	switch ((enum cfi_kind)rule->kind) {
	case CFI_ROOT:
		/* a return address that no call has pushed is not a frame */
		if (!(rule->flags & CFI_FLAG_HEURISTIC))
			f->flags |= unwind_root_flags(rule);
		else if (w->n > 1)
			w->n--;
		return UNWIND_ROOT;
	case CFI_UNUSUAL:
		return unwind_slow_unusual(w, rule);
	case CFI_SIGRETURN:
		/* the rule says that a trampoline follows the address, which only a return address
		 * proves to be a frame; HEURISTIC: the interrupted pc itself is in one */
		return f->flags & UNWIND_FRAME_EXACT && !(rule->flags & CFI_FLAG_HEURISTIC) ?
			UNWIND_NO_CFI : unwind_slow_sigreturn(w);
	case CFI_NONE:
		return unwind_slow_guess(w, rule->flags & CFI_FLAG_JIT);
	case CFI_EMPTY:
		/* a return address in no mapping is not a frame */
		if (w->n == 1)
			return UNWIND_BAD_PC;
		w->n--;
		return unwind_code_is_begun(w) ? UNWIND_ROOT : UNWIND_BAD_PC;
	default:
		return UNWIND_BAD_CFI;
	}
}

/* Finds frame[n] from frame[n - 1]: UNWIND_STEP_DONE or an enum unwind_end. */
static int __attribute__((noinline))
unwind_step(struct unwind *u, struct unwind_walk *w, uint64_t salt)
{
	struct unwind_frame *f = &w->frame[w->n - 1], *o = f + 1;
	uint64_t at = f->pc - !(f->flags & UNWIND_FRAME_EXACT);
	uint64_t key = unwind_cache_key(salt, at);
	const struct unwind_cache_entry *e = unwind_cache_get(&u->by_pc, key);
	struct cfi_rule rule = e ? e->rule : unwind_miss(u, w, at, key);
	/* JIT code may have been replaced */
	if (e && rule.flags & CFI_FLAG_JIT && rule.kind == CFI_PLAIN &&
	    !unwind_code_accepts(w, &rule))
		rule = unwind_miss(u, w, at, key);
	if (__builtin_expect(rule.kind != CFI_PLAIN, 0))
		return unwind_other(w, &rule);

	uint64_t cfa =
		(rule.flags & CFI_FLAG_CFA_FP ? f->fp : f->sp) + (uint64_t)(rule.cfa_off8 * 8l);
	uint64_t pc, fp = f->fp;
	uint32_t flags = UNWIND_STEP_SLOTS;
	if (rule.flags & CFI_FLAG_CFA_FP && f->fp == 0 && unwind_lacks_fp(w))
		return UNWIND_NO_FP;
	w->is_cfa_known = true;
	w->cfa = cfa;
	if (rule.flags & CFI_FLAG_RA_REG) {
		/* valid only in a frame that was interrupted: calls overwrite the register */
		if (cfa < f->sp)
			return UNWIND_CYCLE;
		if (!(f->flags & UNWIND_FRAME_EXACT) || !unwind_slow_link(w, &pc))
			return UNWIND_BAD_CFI;
		flags = 0;
	} else {
		if (cfa <= f->sp)
			return UNWIND_CYCLE;
		if (!unwind_load(w, cfa + (uint64_t)(rule.ra_off8 * 8l), &pc))
			return (int)unwind_outside(w, cfa + (uint64_t)(rule.ra_off8 * 8l));
	}
	/* In epilogues the CFI still names the slot after the register was popped from it.  A slot
	 * below the stack pointer is dead, and the register has its value back. */
	if (rule.flags & CFI_FLAG_FP_SAVED && cfa + (uint64_t)(rule.fp_off8 * 8l) >= f->sp) {
		if (!unwind_load(w, cfa + (uint64_t)(rule.fp_off8 * 8l), &fp))
			return (int)unwind_outside(w, cfa + (uint64_t)(rule.fp_off8 * 8l));
		flags |= UNWIND_STEP_FP;
	}
	pc = unwind_strip(w, pc);
	if (!pc)
		return UNWIND_ROOT;
	f->ra_off8 = rule.ra_off8;
	f->fp_off8 = rule.fp_off8;
	f->flags |= flags;
	*o = (struct unwind_frame){ .pc = pc, .sp = cfa, .fp = fp,
		.flags = (rule.flags & CFI_FLAG_HEURISTIC ? UNWIND_FRAME_HEURISTIC : 0) |
			 (rule.flags & CFI_FLAG_INTERRUPTED ? UNWIND_FRAME_EXACT : 0) };
	u->stats.n_by_code += rule.flags & CFI_FLAG_HEURISTIC ? 1 : 0;
	return UNWIND_STEP_DONE;
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* Does the stack end where there is another frame, but not in the copy?  A stack pointer of another
 * stack (setcontext before it returns) may be in the memo. */
static bool unwind_is_joinable(const struct unwind_walk *w, enum unwind_end end)
{
	return end == UNWIND_BEYOND || end == UNWIND_BAD_SP || w->is_gone;
}

static enum unwind_end unwind_run(struct unwind *u, struct unwind_walk *w, struct unwind_sync *s,
				  uint32_t n_memo)
{
	uint64_t salt = unwind_cache_salt(w->in->space), stop_sp = 0;
	for (;;) {
		enum unwind_fast fast = unwind_fast(&u->by_pc, salt, w, s, stop_sp);
		if (fast == UNWIND_FAST_ROOT)
			return UNWIND_ROOT;
		if (fast == UNWIND_FAST_MET) {
			uint32_t n = w->n;
			bool joined = unwind_memo_reuse(s, w);
			u->stats.n_reused += w->n - n - s->n_joined;
			if (joined)
				return UNWIND_BEYOND;
			if (w->frame[w->n - 1].flags & UNWIND_STEP_NONE)
				return UNWIND_ROOT;
			/* the next frame that may be in the memo */
			stop_sp = w->frame[w->n - 1].sp + 1;
			continue;
		}
		if (w->n == u->o.max_depth)
			return UNWIND_DEPTH;
		uint32_t n_signals = w->n_signals;
		w->is_cfa_known = w->is_gone = false;
		int end = unwind_step(u, w, salt);
		if (end != UNWIND_STEP_DONE) {
			if (unwind_is_joinable(w, (enum unwind_end)end) && n_memo)
				unwind_memo_cut(s, w, n_memo);
			return (enum unwind_end)end;
		}
		w->n++;
		stop_sp = 0;
		if (w->n_signals != n_signals) /* the stacks may differ */
			s->k = (int64_t)n_memo - 1;
	}
}

/* Prefetches the copy's start.  Always inlined, because GCC treats a function that only prefetches
 * as one without effects and removes its calls. */
static inline void __attribute__((always_inline)) unwind_ahead(const struct unwind_input *in)
{
	if (!in->stack || in->n_stack_bytes < AHEAD_BYTES)
		return;
#pragma GCC unroll 12
	for (uint64_t i = 0; i < AHEAD_BYTES; i += 64)
		__builtin_prefetch(in->stack + i);
}

/* Prefetches as much of the copy as the last stacks were walked through, if that was far. */
static inline void __attribute__((always_inline))
unwind_ahead_far(const struct unwind_walk *w, const struct unwind_memo *m, uint32_t n_memo)
{
	uint64_t n = m->n_walked_bytes >= AHEAD_FAR_BYTES ? m->n_walked_bytes : AHEAD_BYTES;
	for (uint64_t i = AHEAD_BYTES; i < n && i < w->n_copy; i += 64)
		__builtin_prefetch(w->in->stack + i);
	/* outer frames have probably not changed */
	for (uint32_t i = 0; i < n_memo; i++) {
		uint64_t off = m->frame[i].sp - 8 - w->sp0;
		if (off < n)
			break;
		if (off < w->n_copy)
			__builtin_prefetch(w->in->stack + off);
	}
}

/*
 * Does a stack lead nowhere because a function near its end has switched stacks?  If it is about
 * to return there, that is the last frame now, and the stack continues there: returns true.
 * Otherwise that function is the root, and its pc is cached as one, since the words that its CFI
 * treats as return addresses may lead to a few more frames.
 */
static bool unwind_switched(struct unwind *u, struct unwind_walk *w, struct unwind_sync *s,
			    uint32_t n_memo, enum unwind_end *end)
{
	if (*end == UNWIND_ROOT)
		return false;
	if (w->n == 1 && unwind_code_is_start(w)) {
		*end = UNWIND_ROOT;
		return false;
	}
	if (*end == UNWIND_DEPTH || *end == UNWIND_BEYOND || *end == UNWIND_NO_FP || w->is_gone ||
	    s->n_joined)
		return false;
	for (uint32_t i = w->n; i-- > 0 && i + UNWIND_SWITCH_FRAMES >= w->n;) {
		const struct unwind_frame *f = &w->frame[i];
		if (!unwind_call_is_switched(w, i))
			continue;
		w->n = i + 1;
		s->n_met = 0;
		if (unwind_code_raise(w)) {
			s->k = (int64_t)n_memo - 1;
			return true;
		}
		uint64_t key = unwind_cache_key(unwind_cache_salt(w->in->space),
						f->pc - !(f->flags & UNWIND_FRAME_EXACT));
		unwind_cache_put(&u->by_pc, key, (struct cfi_rule){ .kind = CFI_ROOT });
		w->frame[i].flags |= UNWIND_STEP_NONE;
		*end = UNWIND_ROOT;
		return false;
	}
	return false;
}

/*
 * An exception's handler replaces a return address on the stack just before it is jumped to.  No
 * call precedes it, and its frame is described by the rule at its address, not by that at the byte
 * before.  Is there such a frame?  It becomes the last one, to continue from there.
 */
static bool unwind_is_handler(struct unwind_walk *w, struct unwind_sync *s, uint32_t n_memo)
{
	for (uint32_t i = 1; w->is_throwing && !s->n_joined && i < w->n; i++) {
		struct unwind_frame *f = &w->frame[i];
		if (f->flags & UNWIND_FRAME_EXACT || unwind_code_is_call(w, f->pc))
			continue;
		f->flags = UNWIND_FRAME_EXACT;
		w->n = i + 1;
		w->is_throwing = false;
		s->n_met = 0;
		s->k = (int64_t)n_memo - 1;
		return true;
	}
	return false;
}

/* Can the walk go on from another frame?  At most once for each reason. */
static inline __attribute__((always_inline)) bool
unwind_resumes(struct unwind *u, struct unwind_walk *w, struct unwind_sync *s, uint32_t n_memo,
	       struct unwind_result *r, bool *is_handler, bool *is_raised)
{
	if (__builtin_expect(r->end == UNWIND_ROOT && !w->is_throwing, 1) || *is_raised)
		return false;
	if (!*is_handler && unwind_is_handler(w, s, n_memo))
		return *is_handler = true;
	return *is_raised = unwind_switched(u, w, s, n_memo, &r->end);
}

void unwind_stack(struct unwind *u, const struct unwind_input *in, struct unwind_memo *memo,
		  struct unwind_result *ret)
{
	unwind_ahead(in);
	const struct arch *a = u->o.arch;
	uint64_t need = 1ull << a->sp | 1ull << a->pc;
	*ret = (struct unwind_result){ .frame = u->frame };
	u->stats.n_stacks++;
	if ((in->regs->valid & need) != need) {
		ret->end = UNWIND_NO_REGS;
		u->stats.n_end[ret->end]++;
		return;
	}
	struct unwind_walk w = { .arch = a, .pc_mask = a->pc_mask, .in = in,
		.max_depth = u->o.max_depth,
		.find_module = u->o.find_module, .calls = &u->calls,
		.open_codes = &u->open_codes,
		.read_code = u->o.read_code, .stats = &u->stats, .frame = u->frame, .n = 1,
		.sp0 = in->regs->r[a->sp], .n_copy = in->stack ? in->n_stack_bytes : 0 };
	u->frame[0] = (struct unwind_frame){ .pc = in->regs->r[a->pc], .sp = w.sp0,
		.fp = in->regs->valid >> a->fp & 1 ? in->regs->r[a->fp] : 0,
		.flags = UNWIND_FRAME_EXACT };
	uint32_t n_memo = memo && memo->space == in->space ? memo->n : 0;
	struct unwind_sync s = { .m = memo ? memo->frame : NULL, .k = (int64_t)n_memo - 1,
		.is_whole = n_memo && memo->is_whole };

	if (n_memo)
		unwind_ahead_far(&w, memo, n_memo);
	bool is_handler = false, is_raised = false;
	do
		/* the only call, so that it is inlined */
		ret->end = unwind_run(u, &w, &s, n_memo);
	while (unwind_resumes(u, &w, &s, n_memo, ret, &is_handler, &is_raised));
	ret->n = w.n;
	ret->n_joined = s.n_joined;
	ret->is_whole = ret->end == UNWIND_ROOT || (s.n_joined && s.is_whole);
	if (unwind_is_joinable(&w, ret->end) && !s.n_joined && w.is_cfa_known)
		ret->cut_cfa = w.cfa;
	u->stats.n_end[ret->end]++;
	u->stats.n_joined += s.n_joined > 0;
	u->stats.n_frames += w.n;
	if (memo && !in->is_probe)
		unwind_memo_update(memo, &w, &s, in->space, ret);
}

struct unwind *unwind_new(const struct unwind_options *o)
{
	struct unwind *u = calloc(1, sizeof(*u));
	if (!u)
		return NULL;
	u->o = *o;
	if (!u->o.max_depth)
		u->o.max_depth = UNWIND_DEPTH_DEFAULT;
	u->frame = calloc((size_t)u->o.max_depth + 1, sizeof(*u->frame));
	if (!caches_init(u) || !u->frame) {
		unwind_free(u);
		return NULL;
	}
	return u;
}

void unwind_free(struct unwind *u)
{
	if (!u)
		return;
	caches_done(u);
	free(u->frame);
	free(u);
}

const struct unwind_stats *unwind_stats(const struct unwind *u)
{
	return &u->stats;
}

const char *unwind_end_name(enum unwind_end e)
{
	static const char *const name[UNWIND_N_ENDS] = {
		[UNWIND_ROOT] = "root", [UNWIND_BEYOND] = "beyond the copy",
		[UNWIND_NO_CFI] = "no CFI", [UNWIND_BAD_CFI] = "bad CFI",
		[UNWIND_BAD_PC] = "bad return address", [UNWIND_BAD_SP] = "other stack",
		[UNWIND_CYCLE] = "cycle", [UNWIND_DEPTH] = "depth limit",
		[UNWIND_NO_REGS] = "no registers", [UNWIND_NO_STACK] = "no stack",
		[UNWIND_NO_FP] = "no frame pointer",
	};
	return e < UNWIND_N_ENDS ? name[e] : "?";
}

void unwind_regs_from_perf(const struct arch *arch, uint64_t mask, const uint64_t *values,
			   struct unwind_regs *ret)
{
	*ret = (struct unwind_regs){ .valid = 0 };
	for (; mask; mask &= mask - 1, values++) {
		int i = __builtin_ctzll(mask), reg = i < arch->n_perf_regs ? arch->perf_reg[i] : -1;
		if (reg < 0)
			continue;
		ret->r[reg] = *values;
		ret->valid |= 1ull << reg;
	}
}
