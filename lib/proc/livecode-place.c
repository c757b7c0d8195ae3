/*
 * When code is first met, it may have come after the sample.  It is believed to be older only if it
 * is met promptly, and if the runtime has not used the memory of code for other code meanwhile, as
 * far as it counts that (the epoch).  Where other code was known before, it is believed only from
 * the moment on when that was gone.  Numbers of compilations do not help: they are given before
 * compiling begins.
 *
 * Memory that was sampled is a hostile program's to choose.  So what is read is bounded by the
 * runtime's reader, the time by LIVECODE_TICK_NS_MAX, what is kept by n_bytes_max, and an address
 * without code is not asked about again before the next tick.
 */
#include "proc/livecode-private.h"

#include "base/clock.h"
#include "symbolize/runtime/runtime.h"

#include <string.h>

#define PROMPT_NS 10000000u             /* without epochs */
#define EPOCH_PROMPT_NS 100000000u

/* What pc, in that piece, is called.  False: it is not known, because the code is gone. */
static bool name_pc(struct livecode_process *p, struct livepiece *at, uint64_t pc)
{
	struct runtime_call call[RUNTIME_CALLS_MAX];
	struct jitcalls_call kept[RUNTIME_CALLS_MAX];
	struct runtime_code_source from = livecode_source(p);
	struct runtime_code *c = &livepieces_code(&p->pieces, at)->c;
	size_t before = c->n_held_bytes;
	if (jitcalls_find(&p->calls, at->layer, pc))
		return true;
	size_t n = p->runtime->code->calls(p->program.data, &from, c, pc, call);
	budget_charge_always(&p->all->budget, c->n_held_bytes - before);
	for (size_t i = 0; i < n; i++)
		kept[i] = (struct jitcalls_call){
			jitcalls_text(&p->calls, call[i].name),
			jitcalls_text(&p->calls, call[i].linkage),
			jitcalls_text(&p->calls, call[i].file), call[i].line,
			call[i].first_line,
		};
	/* was it the same code until now? */
	livecode_prove_one(p, at);
	if (at->code == LIVEPIECE_NO_CODE || !kept[0].name ||
	    !jitcalls_add(&p->calls, at->layer, pc, kept, n))
		return false;
	p->all->stats.n_addresses++;
	return true;
}

/* Since when at least the code has been there, which was read just now. */
static uint64_t from_of(struct livecode_process *p, const struct runtime_code *c)
{
	livecode_read_epoch(p, true);
	uint64_t now_ns = clock_monotonic_ns();
	uint64_t prompt_ns = p->has_epoch ? EPOCH_PROMPT_NS : PROMPT_NS;
	uint64_t from_ns = c->serial && now_ns > prompt_ns ? now_ns - prompt_ns : 0;
	return c->serial && p->epoch_ns > from_ns ? p->epoch_ns : from_ns;
}

static struct livepiece *discover(struct livecode_process *p, uint64_t pc)
{
	struct runtime_code_source from = livecode_source(p);
	struct livepiece_code c = { .checked_tick = p->all->tick };
	if (!p->runtime->code->find(p->program.data, &from, pc, &c.c))
		return NULL;
	c.from_ns = from_of(p, &c.c);
	struct livepiece *at = livepieces_add(&p->pieces, &c);
	if (!at) {
		p->runtime->code->release(&c.c);
		return NULL;
	}
	p->all->stats.n_codes++;
	p->changed_ns = p->all->now_ns;
	return at;
}

/* The code of a piece, proven in this tick; NULL: it is gone. */
static struct livepiece_code *proven_code(struct livecode_process *p, struct livepiece *at)
{
	const struct livepiece_code *c = livepieces_code(&p->pieces, at);
	if (c && c->checked_tick != p->all->tick)
		livecode_prove_one(p, at);
	return livepieces_code(&p->pieces, at);
}

static uint64_t lag_of(uint64_t time_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	return now_ns > time_ns ? now_ns - time_ns : 0;
}

static bool find_place(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		       struct livecode_place *ret)
{
	uint64_t tick = p->all->tick;
	struct livepiece *at = livepieces_at(&p->pieces, pc);
	struct livepiece_code *c = at ? proven_code(p, at) : NULL;
	if (!c) {
		at = discover(p, pc);
		c = at ? livepieces_code(&p->pieces, at) : NULL;
		p->all->stats.lag_ns += at ? lag_of(time_ns) : 0;
	}
	/* the size of a frame is taken from the code that is there now in any case */
	if (c && has_name && c->from_ns > time_ns) {
		p->all->stats.n_late++;
		p->is_late = true;
		p->late_tick = tick;
		return false;
	}
	if (!c || (has_name && !name_pc(p, at, pc)))
		return false;
	*ret = (struct livecode_place){
		.start = at->start, .n_bytes = at->end - at->start, .layer = at->layer,
		.frame_words = c->c.frame_words, .body_off = c->c.body_off,
	};
	return true;
}

static bool ask_locked(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		       struct livecode_place *ret)
{
	struct livecode *l = p->all;
	size_t slot = (pc >> 4) % LIVECODE_UNKNOWN_N;
	bool is_unknown = p->unknown[slot].pc == pc && p->unknown[slot].tick == l->tick;
	if (p->state != LIVECODE_OPEN || is_unknown || l->spent_ns >= LIVECODE_TICK_NS_MAX)
		return false;
	uint64_t n_late = l->stats.n_late;
	bool found = find_place(p, pc, time_ns, has_name, ret);
	l->stats.n_unknown += !found;
	if (!found && n_late == l->stats.n_late) {
		p->unknown[slot].pc = pc;
		p->unknown[slot].tick = l->tick;
	}
	return found;
}

static bool ask(struct livecode_process *p, uint64_t pc, uint64_t time_ns, bool has_name,
		struct livecode_place *ret)
{
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	uint64_t begin_ns = clock_monotonic_ns();
	bool found = ask_locked(p, pc, time_ns, has_name, ret);
	livecode_add_cost(l, begin_ns);
	pthread_mutex_unlock(&l->lock);
	return found;
}

bool livecode_at(struct livecode_process *p, uint64_t pc, uint64_t time_ns,
		 struct livecode_place *ret)
{
	return ask(p, pc, time_ns, true, ret);
}

bool livecode_find(struct livecode_process *p, uint64_t pc, uint64_t time_ns,
		   struct livecode_place *ret)
{
	return ask(p, pc, time_ns, false, ret);
}

bool livecode_has_frames(const struct livecode_process *p)
{
	return p->state == LIVECODE_OPEN && p->runtime->code->frame;
}

/* Has the address, which takes the place of another one, a name for that time? */
static bool is_named(struct livecode_process *p, uint64_t pc, uint64_t time_ns)
{
	const struct livepiece *at = livepieces_at(&p->pieces, pc);
	const struct livepiece_code *c = at ? livepieces_code(&p->pieces, at) : NULL;
	struct livecode_place place;
	return (c && c->from_ns <= time_ns && jitcalls_find(&p->calls, at->layer, pc)) ||
	       ask_locked(p, pc, time_ns, true, &place);
}

static void ask_frame(struct livecode_process *p, const struct runtime_code_source *from,
		      uint64_t time_ns, struct runtime_frame *f)
{
	uint64_t pc = f->pc;
	enum runtime_frame_kind kind = p->runtime->code->frame(p->program.data, from, f, &pc);
	struct livepiece *at = kind == RUNTIME_FRAME_OTHER_CODE ? livepieces_at(&p->pieces, pc)
								: NULL;
	if (at && at->code != LIVEPIECE_NO_CODE)
		livepieces_drop(&p->pieces, at);
	/* the unwinder has asked for it already */
	if (kind == RUNTIME_FRAME_NEW)
		memset(p->unknown, 0, sizeof(p->unknown));
	/* the interpreter's name is better than none */
	f->is_found = kind == RUNTIME_FRAME_FOUND && is_named(p, pc, time_ns);
	if (f->is_found)
		f->pc = pc;
}

bool livecode_frames(struct livecode_process *p, uint64_t time_ns, struct runtime_frame *frame,
		     size_t n)
{
	struct livecode *l = p->all;
	struct runtime_code_source from = livecode_source(p);
	pthread_mutex_lock(&l->lock);
	uint32_t before = p->pieces.n_renewals;
	uint64_t begin_ns = clock_monotonic_ns();
	for (size_t i = 0; i < n && livecode_has_frames(p); i++)
		if (l->spent_ns < LIVECODE_TICK_NS_MAX)
			ask_frame(p, &from, time_ns, &frame[i]);
	bool is_same = p->pieces.n_renewals == before;
	livecode_add_cost(l, begin_ns);
	pthread_mutex_unlock(&l->lock);
	return is_same;
}

size_t livecode_read(struct livecode_process *p, uint64_t pc, void *buf, size_t n_bytes)
{
	size_t n = 0;
	pthread_mutex_lock(&p->all->lock);
	struct livepiece *at = p->state == LIVECODE_OPEN ? livepieces_at(&p->pieces, pc) : NULL;
	struct livepiece_code *c = at ? proven_code(p, at) : NULL;
	if (c)
		n = livepieces_read(&p->pieces, &p->memory, at, pc, buf, n_bytes);
	pthread_mutex_unlock(&p->all->lock);
	return n;
}

const struct jitcalls *livecode_calls(const struct livecode_process *p)
{
	return &p->calls;
}
