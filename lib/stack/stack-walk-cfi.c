/*
 * Stacks of samples with registers and a copy of the stack: from what the unwinder returns to one
 * node of the tree.  Three memories save most of the work: the thread's last stack, stacks that are
 * known by the hash of their addresses, and the cache of frames.
 */

#include "agg/counts.h"
#include "base/hash.h"
#include "proc/jit.h"
#include "source/record.h"
#include "stack/stack-chain.h"
#include "stack/stack-descend.h"
#include "stack/stack-frames.h"
#include "stack/stack-tables.h"

#include <stdlib.h>

#define AHEAD_FRAMES 8u
#define PROVEN_FRAMES 64u

/* Continues node with the kernel's frames of the callchain, root first. */
static bool descend_kernel(struct stack_walk *w, struct procs_space *space, const struct record *r,
			   uint32_t depth, uint32_t *node)
{
	bool truncated;
	if (r->sample.n_callchain == 0 && !stack_chain_is_kernel(r->misc))
		return true;
	uint32_t n = stack_chain_lay_out(w, r, &truncated);
	for (uint32_t i = 0; i < n; i++)
		if (w->is_kernel[i] &&
		    !stack_descend(w, depth + i,
				   stack_frames_at(w, space, w->pc[i], true, false), node))
			return false;
	return true;
}

/* Descends by the frames of the other stack that this one was called from.  Returns how many;
 * clears *fits when there is no memory. */
static uint32_t descend_outer(struct stack_walk *w, struct procs_space *space, uint32_t *node,
			      bool *fits)
{
	const struct stack_switch *outer = &w->user.outer;
	uint32_t n = outer->n + (outer->between != 0);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t ra = i < outer->n ? outer->ra[outer->n - 1 - i] : outer->between;
		uint32_t frame = stack_frames_at(w, space, ra - 1, false, false);
		if (frame == STACK_FRAMES_UNMAPPED)
			frame = w->unknown;
		*fits = *fits && stack_descend(w, i, frame, node);
	}
	return n;
}

/* The address in the function: no call leads to a signal trampoline, whose address the kernel has
 * pushed. */
static inline uint64_t exact_pc(const struct unwind_frame *f)
{
	return f->pc - !(f->flags & (UNWIND_FRAME_EXACT | UNWIND_FRAME_SIGNAL));
}

/* Its place in the cache, which the target has probably evicted from the CPU's caches. */
static inline struct stack_walk_cached *prefetched_frame(const struct stack_walk *w,
							 const struct procs_space *space,
							 const struct unwind_frame *f)
{
	struct stack_walk_cached *c = stack_frames_place(w, exact_pc(f), space->serial);
	__builtin_prefetch(c);
	return c;
}

/* The hash of a stack by CFI before its first frame. */
static uint64_t first_hash(const struct procs_space *space, bool is_whole)
{
	return hash_u64(stack_user_serial(space) * 2 + is_whole);
}

/*
 * Sets w->pc[k], k from `from` on, to the hash of the k + 1 outermost frames, and finds the longest
 * known part of the stack, which has more than `from` frames.  Returns its length and its node,
 * `from` if there is none.
 */
static uint32_t find_known(struct stack_walk *w, const struct unwind_result *u, uint64_t hash,
			   uint32_t from, uint32_t *node)
{
	for (uint32_t k = 0; k < u->n; k++) {
		hash = stack_known_hash(hash, exact_pc(&u->frame[u->n - 1 - k]));
		if (k < from)
			continue;
		w->pc[k - from] = hash;
		__builtin_prefetch(stack_known_at(&w->known, hash));
	}
	for (uint32_t k = u->n; k-- > from;) {
		uint32_t known = stack_known_get(&w->known, w->pc[k - from]);
		if (!known)
			continue;
		*node = known;
		return k + 1;
	}
	return from;
}

/* Is JIT code in the stack what it was when its frames became known? */
static __attribute__((noinline)) bool
is_proven(struct stack_walk *w, const struct procs_space *space, const struct unwind_result *u)
{
	uint64_t pc[PROVEN_FRAMES];
	bool is_same = true;
	for (uint32_t i = 0, n = 0; i < u->n; i++) {
		pc[n++] = exact_pc(&u->frame[i]);
		if (n < PROVEN_FRAMES && i + 1 < u->n)
			continue;
		is_same &= jit_prove(w->user.jit, space, pc, n);
		n = 0;
	}
	return is_same;
}

/* Replaces frames of interpreted functions.  True: there may be some, so that a frame at the same
 * place is not always the same function. */
static __attribute__((noinline)) bool
has_bytecode(struct stack_walk *w, struct procs_space *space, const struct record_sample *s,
	     struct unwind_result *u)
{
	if (!jit_has_frames(w->user.jit, space))
		return false;
	if (!w->bytecode)
		w->bytecode = calloc(1, sizeof(*w->bytecode));
	if (!w->bytecode)
		return true;
	w->bytecode->arch = w->user.arch;
	stack_bytecode_apply(w->bytecode, w->user.jit, space, stack_user_serial(space), s, u);
	/* if some has been replaced, all is looked up again, in the new state of the space */
	is_proven(w, space, u);
	return true;
}

/*
 * Starts to load what counting the sample will read: its entry if the stack is known, with a hash
 * of that length, else where an entry belongs for the node that the last of n new frames will have.
 */
static inline void load_count(struct stack_walk *w, const struct record *r, uint32_t n,
			      uint64_t hash)
{
	if (!w->counts)
		return;
	if (n) {
		counts_prefetch(w->counts, r->event, w->stacks->n + n - 1, w->labels);
		return;
	}
	w->place = &stack_known_at(&w->known, hash)->count;
	counts_prefetch_place(w->counts, *w->place);
}

/* Each frame is one node. */
static void set_callers(const struct stack_walk *w, struct unwind_memo *memo, uint32_t from,
			uint32_t to, uint32_t node)
{
	for (uint32_t k = to; k-- > from; node = w->stacks->v[node].parent)
		memo->caller_id[k] = node;
}

/* The unwinder reports which outer frames are unchanged since the memo; caller_id holds their
 * nodes, or STACKS_NONE where there was no memory. */
uint32_t stack_walk_sample_cfi(struct stack_walk *w, struct procs_space *space,
			       struct stack_user_memos *memos, const struct record *r)
{
	struct unwind_result u;
	stack_tables_join(w);
	w->is_whole = false;
	w->mark = (struct stack_marks){ 0 };
	w->cut_pc = w->cut_cfa = 0;
	w->place = NULL;
	uint64_t n_unsupported = w->user.n_unsupported;
	bool has_jit = space->jit && w->user.jit;
	if (!stack_user_walk(&w->user, space, r, memos, &u) ||
	    (has_jit && !is_proven(w, space, &u) &&
	     !stack_user_walk(&w->user, space, r, memos, &u))) {
		struct stack_walk_memo *none = NULL;
		w->is_not_unwound = w->user.n_unsupported != n_unsupported;
		uint32_t stack = stack_walk_sample(w, space, &none, r);
		w->is_not_unwound = false;
		stack_walk_memo_free(none, w->budget);
		return stack;
	}
	struct unwind_memo *memo = stack_user_memo(memos);
	const struct stack_switch *outer = &w->user.outer;
	bool whole = w->is_whole = outer->n ? outer->is_whole : u.is_whole;
	const struct unwind_frame *last = &u.frame[u.n - 1];
	w->is_beyond = u.end == UNWIND_BEYOND || u.end == UNWIND_DEPTH || (outer->n && !whole);
	const struct unwind_stats *st = unwind_stats(w->user.unwind);
	if (u.n_joined || st->n_by_code || st->n_guessed)
		stack_marks_of(&u, &w->mark);
	w->cut_cfa = whole ? 0 : u.cut_cfa;
	w->cut_pc = last->pc - !(last->flags & UNWIND_FRAME_EXACT);
	w->cut_frame = u.frame;
	w->n_cut_frames = outer->n ? 0 : u.n;
	w->stats.n_truncated += !whole && w->is_beyond;
	w->stats.n_cut += !whole && !w->is_beyond;

	uint32_t node = whole ? STACKS_EMPTY : stack_walk_pseudo(w, w->truncated);
	bool is_changed = has_jit && has_bytecode(w, space, &r->sample, &u);
	uint32_t i = memo && u.is_kept && !outer->n && !is_changed ? u.n_same : 0;
	if (i > 0 && memo->caller_id[i - 1] == STACKS_NONE)
		i = 0;
	if (i > 0)
		node = memo->caller_id[i - 1];
	bool fits = true;
	uint32_t n_outer = outer->n ? descend_outer(w, space, &node, &fits) : 0;
	stack_marks_move(&w->mark, n_outer + (outer->n && !whole));
	uint32_t same = i;
	bool is_hashed = !n_outer && u.n - same <= STACK_CHAIN_MAX;
	if (is_hashed && same < u.n) {
		i = find_known(w, &u, first_hash(space, whole), same, &node);
		load_count(w, r, u.n - i, w->pc[u.n - 1 - same]);
		if (memo && u.is_kept)
			set_callers(w, memo, same, i, node);
	}
	struct stack_walk_cached *ahead[AHEAD_FRAMES];
	for (uint32_t k = i; k < u.n && k < i + AHEAD_FRAMES; k++)
		ahead[k % AHEAD_FRAMES] = prefetched_frame(w, space, &u.frame[u.n - 1 - k]);
	for (; i < u.n; i++) {
		const struct unwind_frame *f = &u.frame[u.n - 1 - i];
		uint32_t frame = is_changed && f->flags & UNWIND_FRAME_BYTECODE ?
			stack_frames_bytecode(w, space, f->pc, ahead[i % AHEAD_FRAMES]) :
			stack_frames_in(w, space, exact_pc(f), false, false,
					ahead[i % AHEAD_FRAMES]);
		if (i + AHEAD_FRAMES < u.n)
			ahead[i % AHEAD_FRAMES] =
				prefetched_frame(w, space, f - AHEAD_FRAMES);
		if (frame == STACK_FRAMES_UNMAPPED) {
			w->stats.n_unknown += i + 1 == u.n;
			frame = w->unknown;
		}
		fits = fits && stack_descend(w, n_outer + i, frame, &node);
		/* an unknown address is looked up, and counted, again */
		if (is_hashed && fits && frame != w->unknown)
			w->place = stack_known_put(&w->known, w->pc[i - same], node);
		/* on top of another stack's frames the node belongs to this sample only */
		if (memo && u.is_kept)
			memo->caller_id[i] = fits && !n_outer ? node : STACKS_NONE;
	}
	if (!fits || !descend_kernel(w, space, r, n_outer + u.n, &node))
		return stack_descend_shortened(w, node);
	return node;
}
