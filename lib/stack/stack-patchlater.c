/*
 * The memo joins a truncated stack to the whole one before it.  This module does the reverse for
 * truncated stacks that come first: a program's first large frame, or a recursion that descends
 * further between two samples than a copy is long.  The condition is the same: in the whole stack,
 * the frame at the CFA where the other one was truncated called the same function.
 *
 * A recursion that descends megabytes and returns within less than a sample's period is never seen
 * whole: no copy holds it, and its memory has changed before it can be read.  But it passes the
 * same stack addresses each time, so the truncated stacks of several samples together cover all of
 * it.  Each is put on one that contains its outermost frames, too, with the same return addresses
 * at the same stack addresses, until one is reached that a whole stack continues.  So completed
 * stacks are kept for a while.
 *
 * A sample is counted at once and moved if its outer part is found, so no sample is lost with its
 * thread.  Its frames are read back from the tree of stacks.
 */

#include "stack/stack-patchlater.h"

#include "base/search.h"

#include "agg/counts.h"
#include "agg/stacks.h"
#include "stack/stack-user.h"

#include <stdlib.h>
#include <string.h>

/* How many of its outermost frames a truncated stack must share with another one to be put on it:
 * MATCH_MAX, or all if it has fewer, but at least MATCH_MIN. */
#define MATCH_MAX 8u
#define MATCH_MIN 2u

#define PLACES_FIRST 1024u

/* One whole stack per WHOLE_NS is kept, and deeper ones. */
#define WHOLE_NS 50000000u
#define WHOLE_FRAMES_MAX 2048u

/* How many stacks are forgotten at once to make room. */
#define FORGET_AT_ONCE (STACK_PATCHLATER_CUTS_MAX / 4)

/* What a stack can be put on: the node of its caller, and that node's depth. */
struct spot {
	uint32_t node, depth;
};

void stack_patchlater_done(struct stack_patchlater *l)
{
	if (l->pool)
		l->pool->n_places -= l->cap_places;
	free(l->cut);
	free(l->place);
	*l = (struct stack_patchlater){ .pool = l->pool };
}

size_t stack_patchlater_bytes(const struct stack_patchlater *l)
{
	return (l->cut ? STACK_PATCHLATER_CUTS_MAX * sizeof(*l->cut) : 0) +
	       l->cap_places * sizeof(*l->place);
}

/* Forgets the n oldest. */
static void forget_oldest(struct stack_patchlater *l, uint32_t n)
{
	uint32_t n_places = n < l->n ? l->cut[n].first : l->n_places;
	for (uint32_t i = 0; i < n; i++)
		l->n_waiting -= !l->cut[i].is_done;
	l->n -= n;
	l->n_old -= l->n_old < n ? l->n_old : n;
	l->n_places -= n_places;
	memmove(l->cut, l->cut + n, l->n * sizeof(*l->cut));
	if (l->n_places)
		memmove(l->place, l->place + n_places, l->n_places * sizeof(*l->place));
	for (uint32_t i = 0; i < l->n; i++)
		l->cut[i].first -= n_places;
	if (!l->n)
		stack_patchlater_done(l);
}

static void forget_old(struct stack_patchlater *l, uint64_t time_ns)
{
	uint32_t n = time_ns >= l->old_ns ? l->n_old : 0;
	while (n < l->n && l->cut[n].time_ns + STACK_PATCHLATER_NS_MAX < time_ns)
		n++;
	l->n_old = n;
	l->old_ns = time_ns;
	if (n >= FORGET_AT_ONCE || (n && n == l->n))
		forget_oldest(l, n);
}

/* Makes room for n more places; false: no memory. */
static bool fit_places(struct stack_patchlater *l, uint32_t n)
{
	uint32_t cap = l->cap_places ? l->cap_places : PLACES_FIRST;
	while (cap < l->n_places + n)
		cap *= 2;
	if (cap == l->cap_places)
		return true;
	if (!l->pool || cap - l->cap_places > STACK_PATCHLATER_PLACES_MAX - l->pool->n_places)
		return false;
	struct stack_patchlater_place *more = reallocarray(l->place, cap, sizeof(*more));
	if (!more)
		return false;
	l->pool->n_places += cap - l->cap_places;
	l->place = more;
	l->cap_places = cap;
	return true;
}

/* Keeps the frames' stack addresses if they are in order, as on one stack. */
static void keep_places(struct stack_patchlater *l, struct stack_patchlater_cut *cut,
			const struct unwind_frame *frame, uint32_t n)
{
	uint64_t last = 0;
	if (!fit_places(l, n))
		return;
	for (uint32_t i = 0; i < n; i++) {
		const struct unwind_frame *f = &frame[n - 1 - i];
		uint64_t off = cut->cfa - f->sp;
		if (off % 8 || off / 8 <= last || off / 8 > UINT32_MAX)
			return;
		last = off / 8;
		l->place[l->n_places + i] =
			(struct stack_patchlater_place){ .pc = f->pc, .off8 = (uint32_t)last };
	}
	cut->n_places = n;
	l->n_places += n;
}

/* Puts cut's stack, which begins with the frame `truncated`, on node `outer` instead and sets the
 * nodes of its places.  Returns the new stack; STACKS_NONE: it does not begin so, or no memory. */
static uint32_t put_stack_on(struct stack_patchlater *l, struct stack_patchlater_cut *cut,
			     struct stacks *s, uint32_t outer, uint32_t truncated)
{
	uint32_t depth = 0, node = cut->stack;
	for (; node != STACKS_EMPTY && s->v[node].parent != STACKS_EMPTY; depth++)
		node = s->v[node].parent;
	if (node == STACKS_EMPTY || s->v[node].frame != truncated || depth == 0)
		return STACKS_NONE;
	uint32_t *frame = calloc(depth, sizeof(*frame));
	if (!frame)
		return STACKS_NONE;
	node = cut->stack;
	for (uint32_t i = depth; i-- > 0; node = s->v[node].parent)
		frame[i] = s->v[node].frame;
	if (depth < cut->n_places)  /* memory was short */
		cut->n_places = 0;
	node = outer;
	for (uint32_t i = 0; i < depth && node != STACKS_NONE; i++) {
		node = stacks_add(s, node, frame[i], false);
		if (i < cut->n_places)
			l->place[cut->first + i].node = node;
	}
	free(frame);
	return node;
}

/* Moves the sample to its completed stack. */
static bool complete_cut(struct stack_patchlater *l, struct stack_patchlater_cut *cut,
			 struct spot on, const struct stack_patchlater_to *to,
			 struct stack_patchlater_completed *done)
{
	uint32_t stack = put_stack_on(l, cut, to->stacks, on.node, to->truncated);
	if (stack == STACKS_NONE ||
	    !counts_take(to->counts, cut->event, cut->stack, cut->labels, cut->n_samples,
			 cut->value))
		return false;
	/* on.depth frames replace [truncated] */
	struct stack_marks mark = cut->mark;
	mark.n_joined = on.depth;
	for (uint32_t i = 0; i < mark.n_guessed && i < STACK_MARKS_GUESSED_MAX; i++)
		mark.guessed[i] += on.depth - 1;
	uint32_t labels = to->label(to->label_ctx, cut->plain_labels, &mark);
	if (!counts_add(to->counts, cut->event, stack, labels, cut->n_samples, cut->value,
			false)) {
		counts_add(to->counts, cut->event, cut->stack, cut->labels, cut->n_samples,
			   cut->value, true);
		return false;
	}
	++*(cut->is_beyond ? &done->n_beyond : &done->n_cut);
	l->n_waiting--;
	cut->is_done = true;
	cut->outer = on.node;
	cut->n_outer = on.depth;
	return true;
}

/* Does `whole`, which was completed, contain cut's outermost frames?  *ret is their caller. */
static bool find_spot(const struct stack_patchlater *l, const struct stack_patchlater_cut *whole,
		      const struct stack_patchlater_cut *cut, struct spot *ret)
{
	uint64_t diff = whole->cfa - cut->cfa;
	if (whole->space != cut->space || !whole->n_places || !cut->n_places ||
	    whole->time_ns + STACK_PATCHLATER_NS_MAX < cut->time_ns ||
	    cut->time_ns + STACK_PATCHLATER_NS_MAX < whole->time_ns)
		return false;
	const struct stack_patchlater_place *w = l->place + whole->first,
					    *c = l->place + cut->first;
	if (diff % 8 || diff / 8 > w[whole->n_places - 1].off8)
		return false;
	uint32_t off8 = (uint32_t)(diff / 8);
	uint32_t from = SEARCH_COUNT(whole->n_places, i, w[i].off8 <= off8);
	/* w[from] is the first one further in than the CFA, which is the address of its caller */
	if (from ? w[from - 1].off8 != off8 : off8 || !whole->n_outer)
		return false;
	uint32_t n_same = 0, n_both = whole->n_places - from;
	if (n_both > cut->n_places)
		n_both = cut->n_places;
	while (n_same < n_both && n_same < MATCH_MAX && w[from + n_same].pc == c[n_same].pc &&
	       w[from + n_same].off8 - off8 == c[n_same].off8)
		n_same++;
	if (n_same < MATCH_MIN || (n_same < n_both && n_same < MATCH_MAX))
		return false;
	*ret = (struct spot){ from ? w[from - 1].node : whole->outer, whole->n_outer + from };
	return ret->node != STACKS_NONE;
}

/* Completes waiting stacks with the help of stack i, which was completed, then others with the
 * help of these. */
static void complete_others(struct stack_patchlater *l, uint32_t i,
			    const struct stack_patchlater_to *to,
			    struct stack_patchlater_completed *done)
{
	uint32_t next[STACK_PATCHLATER_CUTS_MAX], n = 0;
	next[n++] = i;
	while (n > 0 && l->n_waiting > 0) {
		const struct stack_patchlater_cut *whole = &l->cut[next[--n]];
		struct spot on;
		for (uint32_t k = 0; k < l->n; k++) {
			if (l->cut[k].is_done || !find_spot(l, whole, &l->cut[k], &on) ||
			    !complete_cut(l, &l->cut[k], on, to, done))
				continue;
			next[n++] = k;
		}
	}
}

static struct stack_patchlater_cut *add_cut(struct stack_patchlater *l,
					    const struct stack_patchlater_cut *cut)
{
	if (!l->cut)
		l->cut = calloc(STACK_PATCHLATER_CUTS_MAX, sizeof(*l->cut));
	if (!l->cut)
		return NULL;
	if (l->n == STACK_PATCHLATER_CUTS_MAX)
		forget_oldest(l, FORGET_AT_ONCE);
	struct stack_patchlater_cut *new = &l->cut[l->n++];
	*new = *cut;
	new->is_done = false;
	new->n_places = 0;
	new->first = l->n_places;
	return new;
}

struct stack_patchlater_completed
stack_patchlater_note(struct stack_patchlater *l, const struct stack_patchlater_cut *cut,
		      const struct unwind_frame *frame, uint32_t n,
		      const struct stack_patchlater_to *to)
{
	struct stack_patchlater_completed done = { 0 };
	forget_old(l, cut->time_ns);
	struct stack_patchlater_cut *new = add_cut(l, cut);
	if (!new)
		return done;
	l->n_waiting++;
	keep_places(l, new, frame, n);
	struct spot on;
	for (uint32_t i = l->n - 1; i-- > 0;) {
		if (!l->cut[i].is_done || !find_spot(l, &l->cut[i], new, &on) ||
		    !complete_cut(l, new, on, to, &done))
			continue;
		complete_others(l, l->n - 1, to, &done);
		break;
	}
	return done;
}

/* Keeps a whole stack for others to be put on.  Of many similar ones the deepest is sufficient. */
static void keep_whole(struct stack_patchlater *l, const struct unwind_memo *memo, uint64_t time_ns)
{
	uint64_t sp = memo->frame[memo->n - 1].sp;
	bool is_new = time_ns >= l->whole_ns + WHOLE_NS || memo->space != l->whole_space;
	if (memo->n > WHOLE_FRAMES_MAX || (!is_new && sp >= l->whole_sp))
		return;
	const struct stack_patchlater_cut whole = {
		.time_ns = time_ns, .cfa = memo->frame[0].sp + 8, .space = memo->space,
	};
	struct stack_patchlater_cut *new = add_cut(l, &whole);
	new->is_done = true;
	if (!fit_places(l, memo->n))
		return;
	uint64_t last = 0;
	for (uint32_t i = 0; i < memo->n; i++) {
		uint64_t off8 = (whole.cfa - memo->frame[i].sp) / 8;
		if (off8 <= last || off8 > UINT32_MAX)
			return;
		last = off8;
		l->place[l->n_places + i] = (struct stack_patchlater_place){
			.pc = memo->frame[i].pc, .off8 = (uint32_t)off8, .node = memo->caller_id[i],
		};
	}
	new->n_places = memo->n;
	l->n_places += memo->n;
	l->whole_ns = time_ns;
	l->whole_space = memo->space;
	l->whole_sp = sp;
}

struct stack_patchlater_completed
stack_patchlater_complete(struct stack_patchlater *l, struct procs_space *space,
			  const struct unwind_memo *memo, uint64_t time_ns,
			  const struct stack_patchlater_to *to)
{
	struct stack_patchlater_completed done = { 0 };
	forget_old(l, time_ns);
	for (uint32_t i = l->n_old; i < l->n && l->n_waiting > 0; i++) {
		struct stack_patchlater_cut *cut = &l->cut[i];
		if (cut->is_done || cut->time_ns + STACK_PATCHLATER_NS_MAX < time_ns ||
		    cut->cfa < memo->frame[memo->n - 1].sp || cut->cfa > memo->frame[0].sp)
			continue;
		int64_t k = stack_user_caller(to->user, space, memo, cut->pc, cut->cfa);
		if (k < 0 || memo->caller_id[k] == STACKS_NONE ||
		    !complete_cut(l, cut, (struct spot){ memo->caller_id[k], (uint32_t)k + 1 }, to,
				  &done))
			continue;
		complete_others(l, i, to, &done);
	}
	if (l->n)
		keep_whole(l, memo, time_ns);
	return done;
}
