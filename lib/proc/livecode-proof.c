/* The pieces of code in a stack are proven together, each of them once between two ticks. */
#include "proc/livecode-private.h"

#include "base/clock.h"
#include "base/hash.h"
#include "symbolize/runtime/runtime.h"

#define RECENT_TICKS 8u
#define EPOCH_CALM_NS 1000000000u

/* ---- epochs ------------------------------------------------------------------------------ */

void livecode_read_epoch(struct livecode_process *p, bool is_due)
{
	struct runtime_code_source from = livecode_source(p);
	uint64_t epoch, tick = p->all->tick;
	if (!p->runtime->code->epoch || (p->epoch_read_tick == tick && !is_due))
		return;
	p->epoch_read_tick = tick;
	if (!p->runtime->code->epoch(p->program.data, &from, &epoch))
		return;
	if (p->has_epoch ? epoch != p->epoch : epoch != 0) {
		p->epoch_ns = clock_monotonic_ns();
		p->pieces.epoch_tick = tick;
	}
	p->has_epoch = true;
	p->epoch = epoch;
}

/* ---- proof ------------------------------------------------------------------------------- */

/* Its proof is due in this tick; false: it has no code, or is proven. */
static bool is_due(struct livecode_process *p, struct livepiece *at)
{
	struct livepiece_code *c = at ? livepieces_code(&p->pieces, at) : NULL;
	if (!c || c->checked_tick == p->all->tick)
		return false;
	/* it is only once in a list */
	c->checked_tick = p->all->tick;
	return true;
}

/* Adds pieces to n others, so that most of a tick's stacks are proven by its first reading. */
static size_t add_recent(struct livecode_process *p, struct livepiece *at[LIVEPIECES_PROVE_MAX],
			 size_t n)
{
	uint64_t tick = p->all->tick;
	if (p->recent_tick == tick)
		return n;
	p->recent_tick = tick;
	for (size_t i = 0; i < LIVECODE_RECENT_N && n < LIVEPIECES_PROVE_MAX; i++) {
		struct livepiece *one = p->recent[i].tick + RECENT_TICKS > tick ?
			livepieces_at(&p->pieces, p->recent[i].start) : NULL;
		if (is_due(p, one))
			at[n++] = one;
	}
	return n;
}

static void note_recent(struct livecode_process *p, uint64_t start)
{
	size_t i = hash_u64(start) % LIVECODE_RECENT_N;
	p->recent[i].start = start;
	p->recent[i].tick = p->all->tick;
}

/* Proves n pieces, and others with them if that costs little. */
static void prove(struct livecode_process *p, struct livepiece *at[LIVEPIECES_PROVE_MAX],
		  size_t n)
{
	uint64_t tick = p->all->tick;
	livecode_read_epoch(p, false);
	/* of a program that has just ended, if it has not used memory of code again lately */
	p->pieces.keeps_unreadable = p->has_epoch &&
				     clock_monotonic_ns() - p->epoch_ns > EPOCH_CALM_NS;
	n = add_recent(p, at, n);
	livepieces_prove(&p->pieces, &p->memory, at, n, tick);
}

void livecode_prove_one(struct livecode_process *p, struct livepiece *one)
{
	struct livepiece *at[LIVEPIECES_PROVE_MAX] = { one };
	livepieces_code(&p->pieces, one)->checked_tick = p->all->tick;
	prove(p, at, 1);
}

static uint32_t n_renewals(const struct livecode_process *p)
{
	return p->n_renewals + p->pieces.n_renewals;
}

uint32_t livecode_check(struct livecode_process *p, uint64_t time_ns, uint64_t *ret_tick)
{
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	if (time_ns > l->now_ns) {
		uint64_t now_ns = clock_monotonic_ns();
		l->tick++;
		l->now_ns = now_ns > time_ns ? now_ns : time_ns;
	}
	if (p->state == LIVECODE_OPEN)
		p->sampled_ns = l->now_ns;
	p->n_samples += p->state == LIVECODE_NEW;
	l->stats.n_refused += p->state == LIVECODE_REFUSED;
	if (p->is_late && p->late_tick != l->tick) {
		/* later samples have the name */
		p->is_late = false;
		p->n_renewals++;
	}
	uint32_t n = n_renewals(p);
	*ret_tick = l->tick;
	pthread_mutex_unlock(&l->lock);
	return n;
}

/* Those of n addresses whose pieces are not proven in this tick; their number. */
static size_t unproven(struct livecode_process *p, const uint64_t *pc, size_t n,
		       struct livepiece *at[LIVEPIECES_PROVE_MAX])
{
	size_t k = 0;
	for (size_t i = 0; i < n && k < LIVEPIECES_PROVE_MAX; i++) {
		struct livepiece *one = livepieces_at(&p->pieces, pc[i]);
		if (one)
			note_recent(p, one->start);
		if (is_due(p, one))
			at[k++] = one;
	}
	return k;
}

uint32_t livecode_prove(struct livecode_process *p, const uint64_t *pc, size_t n)
{
	struct livepiece *at[LIVEPIECES_PROVE_MAX];
	struct livecode *l = p->all;
	pthread_mutex_lock(&l->lock);
	uint64_t begin_ns = clock_monotonic_ns();
	size_t n_at;
	while (p->state == LIVECODE_OPEN && (n_at = unproven(p, pc, n, at)))
		prove(p, at, n_at);
	uint32_t renewals = n_renewals(p);
	livecode_add_cost(l, begin_ns);
	pthread_mutex_unlock(&l->lock);
	return renewals;
}
