/*
 * The addresses of a callchain are laid out root first (stack-chain.h), so that the tree of stacks
 * grows from the root and shares what it can with the thread's previous stack: addresses are
 * compared one by one with the memo, and only those after the first difference are looked up.
 */

#include "stack/stack-walk.h"

#include "agg/counts.h"
#include "agg/frames.h"
#include "agg/stacks.h"
#include "base/budget.h"
#include "base/hash.h"
#include "base/hugemem.h"
#include "base/strtab.h"
#include "proc/jit.h"
#include "proc/procs.h"
#include "source/record.h"
#include "stack/stack-chain.h"
#include "stack/stack-frames.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The stack that is a frame only, for events without call graphs. */
struct stack_walk_alone {
	uint32_t frame, node;  /* node STACKS_EMPTY: not known yet */
};

#define ALONE_ENTRIES 4096u
#define AHEAD_FRAMES 8u
#define PROVEN_FRAMES 64u
#define JOIN_SAMPLES 4096u      /* by CFI, before the tables get huge pages */

/* Beyond this share of the memory budget, new stacks keep only their outer frames. */
#define SHORTEN_NUM 7
#define SHORTEN_DEN 8
#define SHORTEN_DEPTH 16u

static uint32_t pseudo_frame(struct stack_walk *w, struct frames *frames, const char *name)
{
	return frames_add(frames, w->pseudo_dso, strtab_add_cstr(w->strings, name), true);
}

bool stack_walk_move(struct stack_walk *w, struct frames *frames, struct stacks *stacks)
{
	w->truncated = pseudo_frame(w, frames, STACK_WALK_TRUNCATED);
	w->dropped = pseudo_frame(w, frames, STACK_WALK_DROPPED);
	w->shortened = pseudo_frame(w, frames, STACK_WALK_SHORTENED);
	w->lost = pseudo_frame(w, frames, STACK_WALK_LOST);
	w->unknown = pseudo_frame(w, frames, STACK_WALK_UNKNOWN);
	w->guest = pseudo_frame(w, frames, STACK_WALK_GUEST);
	w->no_stack = pseudo_frame(w, frames, STACK_WALK_NO_STACK);
	if (stacks) {
		w->frames = frames;
		w->stacks = stacks;
		memset(w->cache, 0, STACK_FRAMES_ENTRIES * sizeof(*w->cache));
		memset(w->alone, 0, ALONE_ENTRIES * sizeof(*w->alone));
		memset(w->known.v, 0, sizeof(*w->known.v) << STACK_KNOWN_BITS);
	}
	return w->no_stack != FRAMES_NONE;
}

static int add_dso(struct stack_walk *w, enum dso_kind kind, const char *path, uint32_t *ret_id)
{
	struct dso_key key = { .kind = kind };
	struct dso *d = dso_table_find(w->dsos, &key, path);
	if (!d)
		d = dso_table_add(w->dsos, &key, path);
	if (!d)
		return -ENOMEM;
	*ret_id = d->id;
	return 0;
}

/* All tables are in one piece of memory.  They are set if it is given; returns its size. */
static size_t lay_out_tables(struct stack_walk *w, uint8_t *at, void **ret_rules)
{
	size_t n = 0;
#define TABLE(table, n_table_bytes) \
	do { \
		if (at) \
			(table) = (void *)(at + n); \
		n += (n_table_bytes); \
	} while (0)
	/* those of 16 bytes per entry first */
	TABLE(*ret_rules, unwind_cache_bytes(0));
	TABLE(w->cache, STACK_FRAMES_ENTRIES * sizeof(*w->cache));
	TABLE(w->known.v, sizeof(*w->known.v) << STACK_KNOWN_BITS);
	TABLE(w->alone, ALONE_ENTRIES * sizeof(*w->alone));
	TABLE(w->pc, STACK_CHAIN_MAX * sizeof(*w->pc));
	TABLE(w->frame, STACK_CHAIN_MAX * sizeof(*w->frame));
	TABLE(w->is_kernel, STACK_CHAIN_MAX * sizeof(*w->is_kernel));
#undef TABLE
	return n;
}

/* Short recordings use few pages of the tables, and others gain from huge ones. */
static void join_tables(struct stack_walk *w)
{
	void *rules;
	if (w->n_before_join && !--w->n_before_join)
		hugemem_join(w->tables, lay_out_tables(w, NULL, &rules));
}

int stack_walk_init(struct stack_walk *w, struct budget *budget, struct dso_table *dsos,
		    struct frames *frames, struct stacks *stacks, struct strtab *strings,
		    const struct host *host, uint32_t max_stack, const char *machine,
		    uint32_t max_depth)
{
	*w = (struct stack_walk){
		.budget = budget, .dsos = dsos, .frames = frames, .stacks = stacks,
		.strings = strings, .max_stack = max_stack,
	};
	void *rules = NULL;
	w->tables = hugemem_new(lay_out_tables(w, NULL, &rules));
	w->n_before_join = JOIN_SAMPLES;
	if (w->tables)
		lay_out_tables(w, w->tables, &rules);
	if (!w->tables ||
	    stack_user_init(&w->user, dsos, host, machine, max_depth, rules) < 0 ||
	    add_dso(w, DSO_KERNEL, "[kernel.kallsyms]", &w->kernel_dso) < 0 ||
	    add_dso(w, DSO_PSEUDO, "", &w->pseudo_dso) < 0) {
		stack_walk_done(w);
		return -ENOMEM;
	}
	stack_walk_move(w, frames, NULL); /* the cache is empty already */
	return 0;
}

void stack_walk_done(struct stack_walk *w)
{
	stack_user_done(&w->user);
	if (w->bytecode)
		stack_bytecode_done(w->bytecode);
	free(w->bytecode);
	void *rules;
	hugemem_free(w->tables, lay_out_tables(w, NULL, &rules));
	*w = (struct stack_walk){ 0 };
}

uint32_t stack_walk_pseudo(struct stack_walk *w, uint32_t frame)
{
	uint32_t node = stacks_add(w->stacks, STACKS_EMPTY, frame, true);
	return node == STACKS_NONE ? STACKS_EMPTY : node;
}

void stack_walk_count_completed(struct stack_walk *w, uint32_t n_beyond, uint32_t n_cut)
{
	w->stats.n_truncated -= n_beyond;
	w->stats.n_cut -= n_cut;
	w->user.n_joined += n_beyond + n_cut;
}

/* ---- by the callchain --------------------------------------------------------------- */

static size_t memo_bytes(uint32_t cap)
{
	return sizeof(struct stack_walk_memo) + cap * sizeof(struct stack_walk_entry);
}

void stack_walk_memo_free(struct stack_walk_memo *m, struct budget *budget)
{
	if (m)
		budget_release(budget, memo_bytes(m->cap));
	free(m);
}

/* Makes room for n entries; keeps the old memo when there is no memory or budget. */
static bool fit_memo(struct stack_walk *w, struct stack_walk_memo **memo, uint32_t n)
{
	if (*memo && (*memo)->cap >= n)
		return true;
	uint32_t cap = n < 28 ? 32 : n + n / 4;
	size_t bytes = memo_bytes(cap), old_bytes = *memo ? memo_bytes((*memo)->cap) : 0;
	if (w->budget->limit_bytes && w->budget->used_bytes + bytes > w->budget->limit_bytes / 2)
		return false;  /* caches are given up first */
	struct stack_walk_memo *m = realloc(*memo, bytes);
	if (!m)
		return false;
	budget_charge_always(w->budget, bytes - old_bytes);
	if (!*memo)
		*m = (struct stack_walk_memo){ 0 };
	m->cap = cap;
	*memo = m;
	return true;
}

static bool must_shorten(const struct stack_walk *w)
{
	const struct budget *b = w->budget;
	return b->limit_bytes && b->used_bytes > b->limit_bytes / SHORTEN_DEN * SHORTEN_NUM;
}

/* Moves *node to the node of `frame` called from it; false: no memory. */
static bool descend(struct stack_walk *w, uint32_t depth, uint32_t frame, uint32_t *node)
{
	if (frame == FRAMES_NONE)
		return false;
	uint32_t next = stacks_find(w->stacks, *node, frame);
	if (next == STACKS_NONE) {
		if (depth >= SHORTEN_DEPTH && must_shorten(w))
			return false;
		next = stacks_append(w->stacks, *node, frame, false);
	}
	if (next == STACKS_NONE)
		return false;
	*node = next;
	return true;
}

/* A stack for which there is no memory: its outer part, or a single pseudo frame. */
static uint32_t shortened_stack(struct stack_walk *w, uint32_t node)
{
	uint32_t leaf = node == STACKS_EMPTY ? STACKS_NONE
					     : stacks_add(w->stacks, node, w->shortened, false);
	if (leaf != STACKS_NONE) {
		w->stats.n_shortened++;
		return leaf;
	}
	w->stats.n_dropped++;
	return stack_walk_pseudo(w, w->dropped);
}

/*
 * Looks up the frames of w->pc[from .. n), innermost first; returns where the stack begins: after
 * the innermost address of user code that is in no mapping.  Such an address is not a caller, and
 * frames further out are unreliable.
 */
static uint32_t look_up_frames(struct stack_walk *w, struct procs_space *space, uint32_t from,
			       uint32_t n)
{
	for (uint32_t i = n; i-- > from;) {
		bool is_leaf = i + 1 == n || w->is_kernel[i + 1];
		w->frame[i] = stack_frames_at(w, space, w->pc[i], w->is_kernel[i], !is_leaf);
		if (w->frame[i] == STACK_FRAMES_UNMAPPED && !is_leaf)
			return i + 1;
	}
	return from;
}

/* A sample without callers: usually a single cache look-up. */
static uint32_t walk_single_frame(struct stack_walk *w, struct procs_space *space,
				  const struct record *r)
{
	bool is_kernel = stack_chain_is_kernel(r->misc);
	uint64_t pc = r->sample.ip;
	uint32_t node = STACKS_EMPTY;
	uint32_t frame = stack_frames_at(w, space, pc, is_kernel, false);
	struct stack_walk_alone *alone = &w->alone[frame & (ALONE_ENTRIES - 1)];
	if (alone->frame == frame && alone->node != STACKS_EMPTY)
		return alone->node;
	if (frame == STACK_FRAMES_UNMAPPED) {
		w->stats.n_unknown++;
		frame = w->unknown;
	}
	if (!descend(w, 0, frame, &node))
		return shortened_stack(w, node);
	*alone = (struct stack_walk_alone){ frame, node };
	return node;
}

/* Does the user's part of the n frames that were laid out have more than one frame? */
static bool has_user_caller(const struct stack_walk *w, uint32_t n)
{
	return n > 1 && !w->is_kernel[1];
}

uint32_t stack_walk_sample(struct stack_walk *w, struct procs_space *space,
			   struct stack_walk_memo **memo, const struct record *r)
{
	if (!r->sample.n_callchain && !r->sample.n_branches && !w->is_not_unwound)
		return walk_single_frame(w, space, r);
	bool truncated;
	uint32_t n = stack_chain_lay_out(w, r, &truncated), node = STACKS_EMPTY;
	if (truncated || (w->is_not_unwound && !has_user_caller(w, n)))
		node = stack_walk_pseudo(w, w->truncated);

	/* take the nodes of unchanged frames from the memo */
	bool keep = fit_memo(w, memo, n);
	struct stack_walk_memo *m = *memo;
	uint32_t same = 0;
	if (m && m->serial == space->serial && m->start == node)
		while (same < n && same < m->n && m->entry[same].pc == w->pc[same])
			node = m->entry[same++].node;
	if (keep) {
		if (same == 0)
			m->start = node;
		m->serial = space->serial;
		m->n = same;
	}

	uint32_t first = look_up_frames(w, space, same, n);
	if (first > same) {
		w->stats.n_cut++;
		node = STACKS_EMPTY;
		keep = false;
	} else {
		w->stats.n_truncated += truncated;
	}
	for (uint32_t i = first; i < n; i++) {
		uint32_t frame = w->frame[i];
		if (frame == STACK_FRAMES_UNMAPPED) {
			w->stats.n_unknown++;
			frame = w->unknown;
			keep = false;
		}
		if (!descend(w, i, frame, &node))
			return shortened_stack(w, node);
		if (keep) {
			m->entry[i] = (struct stack_walk_entry){ w->pc[i], node };
			m->n = i + 1;
		}
	}
	return node;
}

/* ---- with registers ---------------------------------------------------------------------- */

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
		    !descend(w, depth + i, stack_frames_at(w, space, w->pc[i], true, false), node))
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
		*fits = *fits && descend(w, i, frame == STACK_FRAMES_UNMAPPED ? w->unknown : frame, node);
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
	join_tables(w);
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
			stack_frames_in(w, space, exact_pc(f), false, false, ahead[i % AHEAD_FRAMES]);
		if (i + AHEAD_FRAMES < u.n)
			ahead[i % AHEAD_FRAMES] =
				prefetched_frame(w, space, f - AHEAD_FRAMES);
		if (frame == STACK_FRAMES_UNMAPPED) {
			w->stats.n_unknown += i + 1 == u.n;
			frame = w->unknown;
		}
		fits = fits && descend(w, n_outer + i, frame, &node);
		/* an unknown address is looked up, and counted, again */
		if (is_hashed && fits && frame != w->unknown)
			w->place = stack_known_put(&w->known, w->pc[i - same], node);
		/* on top of another stack's frames the node belongs to this sample only */
		if (memo && u.is_kept)
			memo->caller_id[i] = fits && !n_outer ? node : STACKS_NONE;
	}
	if (!fits || !descend_kernel(w, space, r, n_outer + u.n, &node))
		return shortened_stack(w, node);
	return node;
}
