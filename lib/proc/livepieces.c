/*
 * Pieces are ranges, sorted by address.  A piece that is not the same any more stays as a mark of
 * its layer, until new code covers it.
 */

#include "proc/livepieces.h"

#include "base/budget.h"
#include "base/clock.h"
#include "base/search.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>
#include <string.h>

#define CODES_MAX (1u << 20)
#define COPY_BYTES_MAX (512u << 10)     /* interpreters are large */

static void release_code(struct livepieces *s, uint32_t i)
{
	struct runtime_code *c = &s->code.v[i].c;
	budget_release(s->budget, c->n_held_bytes + (s->code.v[i].bytes ? c->n_bytes : 0));
	free(s->code.v[i].bytes);
	s->ops->release(c);
	if (!VEC_PUSH(&s->free_code, i))
		return;                 /* its element stays unused */
}

void livepieces_done(struct livepieces *s)
{
	for (size_t i = 0; i < s->piece.n; i++)
		if (s->piece.v[i].code != LIVEPIECE_NO_CODE)
			release_code(s, s->piece.v[i].code);
	VEC_FREE(&s->piece);
	VEC_FREE(&s->code);
	VEC_FREE(&s->free_code);
}

/* The first piece that ends after pc. */
static size_t first_after(const struct livepieces *s, uint64_t pc)
{
	return SEARCH_COUNT(s->piece.n, i, s->piece.v[i].end <= pc);
}

struct livepiece *livepieces_at(struct livepieces *s, uint64_t pc)
{
	size_t i = first_after(s, pc);
	return i < s->piece.n && s->piece.v[i].start <= pc ? &s->piece.v[i] : NULL;
}

struct livepiece_code *livepieces_code(struct livepieces *s, const struct livepiece *at)
{
	return at->code == LIVEPIECE_NO_CODE ? NULL : &s->code.v[at->code];
}

void livepieces_drop(struct livepieces *s, struct livepiece *at)
{
	bool was_there = s->code.v[at->code].proven_tick >= s->epoch_tick;
	at->gone_ns = s->ops->epoch && was_there ? clock_monotonic_ns() : 0;
	release_code(s, at->code);
	at->code = LIVEPIECE_NO_CODE;
	s->n_renewals++;
}

/* ---- adding ------------------------------------------------------------------------------ */

/* Replaces n pieces from i on by those in v. */
static bool splice(struct livepieces *s, size_t i, size_t n, const struct livepiece *v,
		   size_t n_new)
{
	if (!VEC_RESERVE(&s->piece, n_new))
		return false;
	memmove(&s->piece.v[i + n_new], &s->piece.v[i + n],
		(s->piece.n - i - n) * sizeof(*s->piece.v));
	memcpy(&s->piece.v[i], v, n_new * sizeof(*v));
	s->piece.n = s->piece.n - n + n_new;
	return true;
}

/*
 * Adds a piece over others, of which only what it does not cover stays, as marks.  Between the last
 * proof of one of them and the moment when it was gone, either may have been there.
 */
static bool insert(struct livepieces *s, struct livepiece new)
{
	uint64_t *from_ns = &s->code.v[new.code].from_ns;
	size_t i = first_after(s, new.start), n = 0, k = 0;
	struct livepiece v[3];
	while (i + n < s->piece.n && s->piece.v[i + n].start < new.end) {
		struct livepiece *old = &s->piece.v[i + n++];
		if (old->code != LIVEPIECE_NO_CODE)
			livepieces_drop(s, old);
		if (new.layer <= old->layer)
			new.layer = old->layer + 1;
		if (*from_ns < old->gone_ns)
			*from_ns = old->gone_ns;
	}
	const struct livepiece *first = n ? &s->piece.v[i] : NULL;
	const struct livepiece *last = n ? first + n - 1 : NULL;
	if (n && first->start < new.start) {
		v[k] = *first;
		v[k++].end = new.start;
	}
	v[k++] = new;
	if (n && last->end > new.end) {
		v[k] = *last;
		v[k++].start = new.end;
	}
	s->n_replaced += n > 0;
	return splice(s, i, n, v, k);
}

struct livepiece *livepieces_add(struct livepieces *s, const struct livepiece_code *code)
{
	const struct runtime_code *c = &code->c;
	bool is_charged = budget_charge(s->budget, c->n_held_bytes);
	uint32_t i = s->free_code.n ? s->free_code.v[s->free_code.n - 1] : (uint32_t)s->code.n;
	struct livepiece new = { .start = c->start, .end = c->start + c->n_bytes, .code = i,
				 .layer = c->serial ? LIVEPIECE_FIRST_LAYER : 0 };
	if (!is_charged || i >= CODES_MAX || !VEC_RESERVE(&s->piece, 3) ||
	    (i == s->code.n && !VEC_EXTEND(&s->code, i + 1))) {
		if (is_charged)
			budget_release(s->budget, c->n_held_bytes);
		return NULL;
	}
	s->free_code.n -= s->free_code.n > 0;
	s->code.v[i] = *code;
	s->code.v[i].proven_tick = code->checked_tick;
	return insert(s, new) ? livepieces_at(s, c->start) : NULL;
}

/* ---- proof ------------------------------------------------------------------------------- */

/* Witnesses that are this near are read as one range: each range costs the kernel a look at the
 * process's pages. */
#define RANGE_BYTES_MAX 256u

enum { EACH = RUNTIME_CODE_WITNESSES, WITNESSES_MAX = LIVEPIECES_PROVE_MAX * EACH };

struct proof {
	/* two for each witness: itself, and the bytes between it and the one before */
	struct iovec local[2 * WITNESSES_MAX], remote[WITNESSES_MAX];
	size_t n_local, n_remote;
	uint8_t now[WITNESSES_MAX][RUNTIME_CODE_WITNESS_BYTES];
	uint8_t unused[RANGE_BYTES_MAX];
};

/* Adds a witness of a piece to what is read; is_first: of those of the piece.  Returns how many
 * bytes are read for it. */
static long add_witness(struct proof *p, const struct runtime_code_witness *w, bool is_first,
			uint8_t *now)
{
	struct iovec *last = is_first ? NULL : &p->remote[p->n_remote - 1];
	uint64_t from = last ? (uint64_t)(uintptr_t)last->iov_base : 0;
	uint64_t end = last ? from + last->iov_len : 0;
	bool is_near = last && w->at >= end && w->at + w->n_bytes - from <= RANGE_BYTES_MAX;
	size_t n_between = is_near ? w->at - end : 0;
	if (n_between)
		p->local[p->n_local++] = (struct iovec){ p->unused, n_between };
	p->local[p->n_local++] = (struct iovec){ now, w->n_bytes };
	if (is_near)
		last->iov_len += n_between + w->n_bytes;
	else
		p->remote[p->n_remote++] = (struct iovec){ (void *)(uintptr_t)w->at, w->n_bytes };
	return (long)(n_between + w->n_bytes);
}

/* Adds all of a piece.  Returns how many bytes are read for it. */
static long add_piece(struct proof *p, const struct runtime_code *c,
		      uint8_t now[EACH][RUNTIME_CODE_WITNESS_BYTES])
{
	long n_bytes = 0;
	for (size_t k = 0; k < EACH; k++)
		if (c->witness[k].n_bytes)
			n_bytes += add_witness(p, &c->witness[k], n_bytes == 0, now[k]);
	return n_bytes;
}

static bool is_as_before(const struct runtime_code *c,
			 uint8_t now[EACH][RUNTIME_CODE_WITNESS_BYTES])
{
	for (size_t k = 0; k < EACH; k++)
		if (memcmp(now[k], c->witness[k].bytes, c->witness[k].n_bytes) != 0)
			return false;
	return true;
}

/* Returns how many of n pieces it has compared: reading ends at the first one that cannot be read,
 * which is the last one then. */
static size_t prove_some(struct livepieces *s, const struct runtime_memory *memory,
			 struct livepiece *const *at, size_t n)
{
	struct proof p;
	long n_bytes[LIVEPIECES_PROVE_MAX];
	p.n_local = p.n_remote = 0;
	for (size_t i = 0; i < n; i++)
		n_bytes[i] = add_piece(&p, &s->code.v[at[i]->code].c, &p.now[i * EACH]);
	long n_read = memory->read(memory->ctx, p.local, p.n_local, p.remote, p.n_remote);
	if (n_read < 0 && s->keeps_unreadable)
		return n;
	for (size_t i = 0; i < n; i++) {
		n_read -= n_bytes[i];
		struct livepiece_code *c = &s->code.v[at[i]->code];
		if (n_read < 0 || !is_as_before(&c->c, &p.now[i * EACH]))
			livepieces_drop(s, at[i]);
		else
			c->proven_tick = c->checked_tick;
		if (n_read < 0)
			return i + 1;
	}
	return n;
}

void livepieces_prove(struct livepieces *s, const struct runtime_memory *memory,
		      struct livepiece *const *at, size_t n, uint64_t tick)
{
	for (size_t i = 0; i < n; i++)
		s->code.v[at[i]->code].checked_tick = tick;
	while (n > 0) {
		size_t n_done = prove_some(s, memory, at, n);
		at += n_done;
		n -= n_done;
	}
}

/* ---- bytes ------------------------------------------------------------------------------- */

static uint8_t *copy_code(struct livepieces *s, const struct runtime_memory *memory,
			  const struct runtime_code *c)
{
	if (c->n_bytes > COPY_BYTES_MAX || !budget_charge(s->budget, c->n_bytes))
		return NULL;
	uint8_t *p = malloc(c->n_bytes);
	if (p && runtime_memory_read(memory, c->start, p, c->n_bytes))
		return p;
	free(p);
	budget_release(s->budget, c->n_bytes);
	return NULL;
}

size_t livepieces_read(struct livepieces *s, const struct runtime_memory *memory,
		       const struct livepiece *at, uint64_t pc, void *buf, size_t n_bytes)
{
	struct livepiece_code *c = livepieces_code(s, at);
	uint64_t off = pc - c->c.start;
	if (!c->bytes)
		c->bytes = copy_code(s, memory, &c->c);
	if (!c->bytes || off >= c->c.n_bytes)
		return 0;
	if (n_bytes > c->c.n_bytes - off)
		n_bytes = c->c.n_bytes - off;
	memcpy(buf, c->bytes + off, n_bytes);
	return n_bytes;
}
