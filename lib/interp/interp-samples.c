#include "interp/interp-samples.h"

#include "base/clock.h"
#include "interp/interp-base.h"
#include "interp/interp-samples-private.h"
#include "interp/interp-traces.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdlib.h>

/* What is read within this time after the sample is mostly what it was then. */
#define EARLY_NS 300000u
/* And so long it is believed where nothing is remembered. */
#define LATE_NS 1000000u
/* Readings until nothing has changed meanwhile, and when no more places are learned from them. */
#define TRIES 4u
#define TRIES_DONE 2u
/* Places are learned from samples that are not older. */
#define LEARN_NS 2000000u

void interp_samples_init(struct interp_samples *s, struct interp_learn *learn,
			 struct interp_shared *shared)
{
	*s = (struct interp_samples){
		.learn = learn, .shared.shared = shared, .readings.cpu.all = &learn->samecpu,
	};
}

void interp_samples_done(struct interp_samples *s)
{
	interp_chains_done(&s->chains);
	interp_shared_view_done(&s->shared);
	activations_done(&s->activations);
	interp_readings_done(&s->readings);
	VEC_FREE(&s->part);
	VEC_FREE(&s->head);
}

void interp_samples_renew(struct interp_samples *s, const struct interp_runtime *r,
			  uint64_t now_ns)
{
	uint32_t epoch = r->renew(r->ctx, now_ns);
	if (epoch != s->epoch || interp_chains_is_full(&s->chains)) {
		interp_chains_clear(&s->chains);
		interp_shared_renew(&s->shared);
	}
	s->epoch = epoch;
	interp_readings_renew(&s->readings);
}

/* ---- innermost functions ---------------------------------------------------------------- */

/* What the sample itself says.  is_again: an earlier one. */
static bool list_parts(struct interp_samples *s, const struct interp_runtime *r,
		       const struct activations *of, bool is_again)
{
	const struct interp_place_sample from = { r, &s->chains, of };
	s->part.n = 0;
	for (size_t i = 0; i < of->v.n; i++) {
		const struct activation *a = &of->v.v[i];
		struct interp_samples_part p = {
			.node = INTERP_CHAINS_NONE, .quality = INTERP_QUALITY_UNKNOWN,
			.caller_pc = a->caller_pc,
		};
		size_t at = 0;
		if (!activations_value(of, a, s->learn->frame, &p.frame))
			p.frame = 0;
		bool is_there = p.frame && interp_samples_find(s->chain, p.frame, &at);
		uint32_t hint = is_there ? s->chain->link.v[at].code : INTERP_NO_CODE;
		p.code = is_again ?
			interp_learn_known(s->learn, &from, a, p.frame, &p.off) :
			interp_learn_code(s->learn, &from, a, p.frame, hint, &p.off);
		/* its frame mostly says later, too, which function it is */
		if (p.code == INTERP_NO_CODE && !is_again && p.frame &&
		    r->frame_place != ACTIVATION_NO_PLACE &&
		    r->code_of_frame(r->ctx, p.frame) != INTERP_NO_CODE)
			p.code = interp_learn_known(s->learn, &from, a, p.frame, &p.off);
		/* several functions may have the same instructions, but not the same frames */
		if (r->has_single_frames && s->learn->frame == ACTIVATION_NO_PLACE)
			p.code = INTERP_NO_CODE;
		if (!VEC_PUSH(&s->part, p))
			return false;
	}
	return true;
}

static bool list_heads(struct interp_samples *s)
{
	s->head.n = 0;
	for (size_t i = 0; i < s->part.n; i++) {
		const struct interp_samples_part *p = &s->part.v[i];
		if (!VEC_PUSH(&s->head, ((struct interp_base_head){ p->code, p->off, p->frame })))
			return false;
	}
	return true;
}

/* What other processes have taught of a part's callers. */
static uint32_t recall_shared(struct interp_samples *s, const struct interp_runtime *r,
			      const struct interp_base *base, enum interp_entry entry,
			      const struct interp_samples_part *p, bool are_several)
{
	const struct interp_shared_place at = { base, entry, p->code, p->frame, are_several };
	struct interp_link link[INTERP_CALLS_DEPTH];
	size_t n;
	return interp_shared_find(&s->shared, r, &at, link, &n) ?
		interp_chains_node_with_lines(&s->chains, link, n) : INTERP_CHAINS_NONE;
}

/* What is known of a part's callers without the reading. */
static uint32_t recall(struct interp_samples *s, const struct interp_runtime *r,
		       const struct interp_base *base, const struct interp_samples_part *p,
		       bool is_late)
{
	const struct interp_chains_place at = interp_base_place(base, p->code, p->frame);
	uint32_t known = interp_chains_find(&s->chains, &at);
	if (known != INTERP_CHAINS_NONE || (p->is_read && !is_late))
		return known;
	enum interp_entry entry = interp_entries_find(&s->learn->entries, p->caller_pc);
	known = interp_chains_compose(&s->chains, r, base, entry, p->code, p->frame);
	return known != INTERP_CHAINS_NONE && known != INTERP_CHAINS_SEVERAL ?
		known : recall_shared(s, r, base, entry, p, known == INTERP_CHAINS_SEVERAL);
}

/* The innermost activation has its own instruction and its caller's frame for an instant, or it may
 * have just begun: what native code calls there must have been seen before. */
static bool is_alone(struct interp_samples *s, const struct interp_runtime *r, size_t i,
		     const struct interp_base *base)
{
	const struct interp_samples_part *p = &s->part.v[i];
	enum interp_entry entry = INTERP_ENTRY_UNKNOWN;
	if (!i && !interp_calls_has_first(&s->chains.calls, base, p->code) &&
	    !interp_shared_has_first(&s->shared, r, base, p->code))
		return false;
	if (i)
		entry = interp_entries_find(&s->learn->entries, p->caller_pc);
	return interp_base_is_alone(r, base, entry, p->code, p->frame);
}

/* The first function of an activation, as it was read. */
static void learn_entry(struct interp_samples *s, const struct interp_runtime *r,
			const struct interp_samples_part *p)
{
	uint32_t n_bytes, first = p->code;
	enum interp_frames_where w = INTERP_FRAMES_UNKNOWN;
	if (p->n_callers)
		first = s->chain->link.v[p->caller + p->n_callers - 1].code;
	if (r->frames_where && p->caller_pc)
		w = r->frames_where(r->ctx, first, &n_bytes);
	if (w != INTERP_FRAMES_UNKNOWN)
		interp_entries_learn(&s->learn->entries, p->caller_pc, w != INTERP_FRAMES_STACKED);
}

/* A copy has some of the callers; what is known of the last one of them follows. */
static enum interp_quality believe_cut(struct interp_samples *s, const struct interp_runtime *r,
				       size_t i, const struct interp_base *base)
{
	struct interp_samples_part *p = &s->part.v[i], last = *p;
	const struct interp_link *caller = s->chain->link.v + p->caller;
	enum interp_quality q = INTERP_QUALITY_REMEMBERED;
	if (p->n_callers) {
		last.code = caller[p->n_callers - 1].code;
		last.frame = caller[p->n_callers - 1].at;
	}
	enum interp_entry entry = interp_entries_find(&s->learn->entries, p->caller_pc);
	uint32_t outer = INTERP_CHAINS_NONE;
	if (last.frame && interp_base_is_alone(r, base, entry, last.code, last.frame)) {
		outer = 0;
		q = INTERP_QUALITY_EXACT;
	} else if (last.frame) {
		outer = recall(s, r, base, &last, false);
	}
	if (outer != INTERP_CHAINS_NONE) {
		p->node = interp_chains_node(&s->chains, outer, caller, p->n_callers);
	} else if (p->frame && p->n_callers) {
		p->node = recall(s, r, base, p, false);
		p->is_cut = p->node == INTERP_CHAINS_NONE;
	}
	return p->node != INTERP_CHAINS_NONE ? q : INTERP_QUALITY_INNERMOST;
}

static enum interp_quality believe(struct interp_samples *s, const struct interp_runtime *r,
				   size_t i, bool is_early, bool is_late)
{
	struct interp_samples_part *p = &s->part.v[i];
	const struct interp_base base =
		interp_base_find(r, s->head.v + i + 1, s->head.n - i - 1, s->root);
	uint32_t read = INTERP_CHAINS_NONE, known = INTERP_CHAINS_NONE;
	if (p->was_known)
		return INTERP_QUALITY_REMEMBERED;
	if (p->is_cut)
		return believe_cut(s, r, i, &base);
	if (p->frame && !(s->is_copied && p->is_read) && is_alone(s, r, i, &base)) {
		p->node = 0;
		return INTERP_QUALITY_EXACT;
	}
	if (p->is_read)
		learn_entry(s, r, p);
	if (p->is_read)
		read = interp_chains_node(&s->chains, 0, &s->chain->link.v[p->caller],
					  p->n_callers);
	if (s->is_copied && read != INTERP_CHAINS_NONE) {
		p->node = read;
		return INTERP_QUALITY_EXACT;
	}
	if (p->frame)
		known = recall(s, r, &base, p, is_late);
	if (!i && p->frame && known == INTERP_CHAINS_NONE && s->chain != &s->unread) {
		interp_traces_below(&s->chains.calls, r, &base, p->code, p->frame);
		known = recall(s, r, &base, p, is_late);
	}
	/* beyond the copy of the stack nothing else is known */
	bool is_inner_exact = i > 0 && s->part.v[i - 1].quality == INTERP_QUALITY_EXACT;
	if (read != INTERP_CHAINS_NONE &&
	    (is_early || read == known || (!p->frame && is_inner_exact) ||
	     (known == INTERP_CHAINS_NONE && !is_late))) {
		p->node = read;
		return INTERP_QUALITY_EXACT;
	}
	p->node = known;
	return known != INTERP_CHAINS_NONE ? INTERP_QUALITY_REMEMBERED : INTERP_QUALITY_INNERMOST;
}

static bool decide(struct interp_samples *s, const struct interp_runtime *r, bool is_early,
		   bool is_late)
{
	if (!list_heads(s))
		return false;
	for (size_t i = 0; i < s->part.n; i++) {
		struct interp_samples_part *p = &s->part.v[i];
		if (p->code == INTERP_NO_CODE)
			continue;
		if (r->has_single_frames)
			p->quality = INTERP_QUALITY_EXACT;
		else
			p->quality = believe(s, r, i, is_early, is_late);
	}
	return true;
}

/* ---- samples --------------------------------------------------------------------------- */

static void learn_places(struct interp_samples *s, const struct interp_runtime *r, bool is_prompt)
{
	const struct interp_place_sample from = { r, &s->chains, &s->activations };
	const struct interp_link *now = is_prompt ? s->chain->link.v : NULL;
	interp_learn_add(s->learn, &from, &s->activations.v.v[0], now ? now->at : 0,
			 now ? now->code : INTERP_NO_CODE);
}

/* A reading may fail, but the frames of a thread always begin at the same address. */
static uint64_t root_of(struct interp_samples *s, const struct interp_runtime *r, uint32_t tid)
{
	uint64_t at = interp_base_root(r, s->chain);
	uint32_t slot = tid % INTERP_SAMPLES_ROOTS;
	if (at) {
		s->roots[slot].tid = tid;
		s->roots[slot].at = at;
	}
	return s->roots[slot].tid == tid ? s->roots[slot].at : 0;
}

static const struct interp_reading *read_now(struct interp_samples *s,
					     const struct interp_runtime *r, uint32_t tid)
{
	return interp_readings_of(&s->readings, r, &s->chains, tid,
				  interp_learn_is_done(s->learn) ? TRIES_DONE : TRIES);
}

/* What a copy does not have is learned from the thread's memory, and is copied from now on. */
static void fill_gaps(struct interp_samples *s, const struct interp_runtime *r,
		      const struct interp_samples_native *n)
{
	runtime_pages_use_copy(r->frame_pages, NULL);
	const struct interp_reading *now = read_now(s, r, n->tid);
	if (now->is_new)
		interp_shared_add(&s->shared, r, &now->chain, &s->chains.calls);
	runtime_pages_use_copy(r->frame_pages, n->copy);
}

/* Reads what the thread executes now, or what it executed at the sample.  True: its innermost
 * function is known. */
static bool read_thread(struct interp_samples *s, const struct interp_runtime *r,
			const struct interp_samples_native *n)
{
	const struct interp_reading *read = NULL;
	if (n->copy)
		read = interp_readings_copied(&s->readings, r, &s->chains, n->tid, n->copy,
					      n->may_read);
	s->is_copied = read != NULL;
	s->is_cut = read && !read->chain.is_whole;
	if (!read && r->frame_pages)
		runtime_pages_use_copy(r->frame_pages, NULL);
	if (!read && n->may_read)
		read = read_now(s, r, n->tid);
	s->chain = read ? &read->chain : &s->unread;
	s->root = root_of(s, r, n->tid);
	if (s->is_cut && n->may_read)
		fill_gaps(s, r, n);
	if (read && read->is_new && !s->is_cut)
		interp_shared_add(&s->shared, r, s->chain, &s->chains.calls);
	return read && read->has_innermost;
}

enum interp_quality interp_samples_read(struct interp_samples *s, const struct interp_runtime *r,
					const struct interp_samples_native *n,
					struct interp_frames *ret)
{
	if (!activations_find(&s->activations, n->walk, n->is_loop, n->bias) || !s->activations.v.n)
		return INTERP_QUALITY_UNKNOWN;
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = true;
	bool has_innermost = read_thread(s, r, n);
	uint64_t lag_ns = s->is_copied ? 0 : clock_monotonic_ns() - n->time_ns;
	bool is_prompt = lag_ns < LEARN_NS && has_innermost;
	if (interp_learn_goes_on(s->learn, is_prompt))
		learn_places(s, r, is_prompt);
	if (!list_parts(s, r, &s->activations, false))
		return INTERP_QUALITY_UNKNOWN;
	bool is_early = lag_ns < EARLY_NS;
	interp_samples_callers(s, r, n->is_whole, is_early);
	return decide(s, r, is_early, lag_ns > LATE_NS) ?
		interp_samples_frames(s, r, n->is_whole, ret) : INTERP_QUALITY_UNKNOWN;
}

/* ---- samples that were kept -------------------------------------------------------------- */

/* The innermost function of each activation, if all are known. */
static bool keep_heads(const struct interp_samples *s, struct interp_kept *ret)
{
	*ret = (struct interp_kept){
		.epoch = s->epoch, .n_clears = s->chains.n_clears,
		.n_bytes = s->part.n * sizeof(*ret->head.v),
	};
	for (size_t i = 0; i < s->part.n; i++) {
		const struct interp_samples_part *p = &s->part.v[i];
		bool is_sure = p->quality < INTERP_QUALITY_INNERMOST;
		const struct interp_kept_head h = {
			p->code, p->off, p->frame, p->caller_pc,
			is_sure ? p->node : INTERP_CHAINS_NONE,
		};
		if (p->code == INTERP_NO_CODE || !VEC_PUSH(&ret->head, h)) {
			interp_kept_done(ret);
			return false;
		}
	}
	return true;
}

bool interp_samples_keep(const struct interp_samples *s, const struct interp_runtime *r,
			 struct interp_kept *ret)
{
	/* without remembered callers, the same is known later, but frames have changed */
	if (!r->n_replaced || !s->activations.v.n ||
	    (r->has_single_frames && interp_learn_has_places(s->learn)))
		return false;
	if ((s->part.n != s->activations.v.n || !keep_heads(s, ret)) &&
	    !interp_kept_copy(ret, &s->activations))
		return false;
	ret->root = s->root;
	return true;
}

static bool list_heads_again(struct interp_samples *s, const struct interp_kept *k)
{
	s->part.n = 0;
	if (k->epoch != s->epoch || k->n_clears != s->chains.n_clears)
		return false;
	for (size_t i = 0; i < k->head.n; i++) {
		const struct interp_kept_head *h = &k->head.v[i];
		const struct interp_samples_part p = {
			.code = h->code, .off = h->off, .frame = h->frame, .node = h->node,
			.caller_pc = h->caller_pc, .quality = INTERP_QUALITY_UNKNOWN,
			.was_known = h->node != INTERP_CHAINS_NONE,
		};
		if (!VEC_PUSH(&s->part, p))
			return false;
	}
	return true;
}

/* Its callers cannot be read any more, but they may be remembered. */
enum interp_quality interp_samples_again(struct interp_samples *s, const struct interp_runtime *r,
					 const struct interp_kept *k, struct interp_frames *ret)
{
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = true;
	s->chain = &s->unread;
	s->is_copied = s->is_cut = false;
	s->root = k->root;
	if (k->head.n ? !list_heads_again(s, k) : !list_parts(s, r, &k->activations, true))
		return INTERP_QUALITY_UNKNOWN;
	interp_samples_callers(s, r, true, false);
	return decide(s, r, false, true) ? interp_samples_frames(s, r, true, ret)
					 : INTERP_QUALITY_UNKNOWN;
}
