/* The array is searched from its start: threads wait at a few places. */

#include "engine/waits-pool.h"

#include "base/budget.h"

#include <stdlib.h>

/* The weights of a reading, which are divided by the length of its wait for their number. */
#define READING_NS (1u << 20)
#define READING_N (1ull << 40)
/* A reading takes longer. */
#define LENGTH_NS_MIN 1000u

static uint8_t class_of(const struct waits_piece *piece)
{
	return (uint8_t)((piece->state == WAITS_PREEMPTED ? WAITS_POOL_PREEMPTED : 0) |
			 (piece->is_below ? WAITS_POOL_BELOW : 0));
}

static bool is_same(const struct waits_pool_entry *e, uint8_t class,
		    const struct waits_piece *piece)
{
	return e->at.stack == piece->at.stack && e->at.labels == piece->at.labels &&
	       e->at.locks == piece->at.locks && e->class == class && e->state == piece->state;
}

static struct waits_pool_entry *entry_of(struct waits_pool *p, struct budget *budget,
					 const struct waits_piece *piece)
{
	uint8_t class = class_of(piece);
	for (size_t i = 0; i < p->entry.n; i++)
		if (is_same(&p->entry.v[i], class, piece))
			return &p->entry.v[i];
	size_t cap = p->entry.cap;
	if (p->entry.n >= WAITS_POOL_ENTRIES_MAX ||
	    !VEC_PUSH(&p->entry, ((struct waits_pool_entry){
		.at = piece->at, .class = class, .state = (uint8_t)piece->state })))
		return NULL;
	budget_charge_always(budget, (p->entry.cap - cap) * sizeof(*p->entry.v));
	return &p->entry.v[p->entry.n - 1];
}

static void add_to_rest(struct waits_pool *p, const struct waits_piece *piece)
{
	p->rest[class_of(piece)].ns += piece->ns;
	p->rest[class_of(piece)].n += piece->n;
}

bool waits_pool_add(struct waits_pool *p, struct budget *budget, const struct waits_piece *piece)
{
	if (!waits_is_known(piece->at)) {
		add_to_rest(p, piece);
		return true;
	}
	struct waits_pool_entry *e = entry_of(p, budget, piece);
	if (!e)
		return false;
	e->ns += piece->ns;
	e->n += piece->n;
	e->weight_ns += piece->ns;
	e->weight_n += piece->n;
	return true;
}

bool waits_pool_read(struct waits_pool *p, struct budget *budget, const struct waits_piece *piece)
{
	struct waits_pool_entry *e = entry_of(p, budget, piece);
	if (!e)
		return false;
	add_to_rest(p, piece);
	e->weight_ns += READING_NS;
	e->weight_n += READING_N / (piece->ns > LENGTH_NS_MIN ? piece->ns : LENGTH_NS_MIN);
	return true;
}

/* The part of a sum that belongs to [0, upto) of whole. */
static uint64_t part_of(uint64_t sum, uint64_t upto, uint64_t whole)
{
	return whole ? (uint64_t)((unsigned __int128)sum * upto / whole) : 0;
}

/* The parts are differences of rounded sums, so that they add up. */
static void flush_class(const struct waits_pool *p, uint8_t class, struct waits_piece piece,
			waits_count_fn *count, void *ctx)
{
	uint64_t rest_ns = p->rest[class].ns, rest_n = p->rest[class].n;
	uint64_t all_ns = 0, all_n = 0, ns = 0, n = 0;
	for (size_t i = 0; i < p->entry.n; i++) {
		all_ns += p->entry.v[i].class == class ? p->entry.v[i].weight_ns : 0;
		all_n += p->entry.v[i].class == class ? p->entry.v[i].weight_n : 0;
	}
	piece.is_below = class & WAITS_POOL_BELOW;
	for (size_t i = 0; i < p->entry.n; i++) {
		const struct waits_pool_entry *e = &p->entry.v[i];
		if (e->class != class)
			continue;
		piece.at = e->at;
		piece.state = e->state;
		piece.ns = e->ns + part_of(rest_ns, ns + e->weight_ns, all_ns) -
			   part_of(rest_ns, ns, all_ns);
		piece.n_others = part_of(rest_n, n + e->weight_n, all_n) -
				 part_of(rest_n, n, all_n);
		piece.n = e->n + piece.n_others;
		ns += e->weight_ns;
		n += e->weight_n;
		count(ctx, &piece);
	}
	piece.at = waits_nowhere;
	piece.state = class & WAITS_POOL_PREEMPTED ? WAITS_PREEMPTED : WAITS_BLOCKED;
	piece.ns = all_ns ? 0 : rest_ns;
	piece.n = all_n ? 0 : rest_n;
	piece.n_others = 0;
	if (piece.ns || piece.n)
		count(ctx, &piece);
}

void waits_pool_flush(struct waits_pool *p, uint32_t pid, uint32_t tid, waits_count_fn *count,
		      void *ctx)
{
	const struct waits_piece piece = { .pid = pid, .tid = tid };
	for (uint8_t class = 0; class < WAITS_POOL_N_CLASSES; class++) {
		flush_class(p, class, piece, count, ctx);
		p->rest[class].ns = p->rest[class].n = 0;
	}
	p->entry.n = 0;
}

void waits_pool_free(struct waits_pool *p, struct budget *budget)
{
	if (!p)
		return;
	budget_release(budget, sizeof(*p) + p->entry.cap * sizeof(*p->entry.v));
	VEC_FREE(&p->entry);
	free(p);
}
