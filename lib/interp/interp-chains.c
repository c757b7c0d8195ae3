#include "interp/interp-chains.h"

#include "base/hash.h"
#include "interp/interp-base.h"

#include <stdlib.h>

/* Some 20 MB.  A program with more begins anew. */
#define NODES_MAX 262144u
#define PLACES_MAX 131072u
#define FRAMES_MAX 131072u

#define CANDIDATES 4u
#define LEARNED_MAX 256u        /* innermost functions of a reading */
#define WEIGHT_MAX 1000u        /* then all are halved, so that changes are noticed */

/* The share of what is believed, in tenths. */
#define TENTHS 9u

struct interp_chains_node {
	uint32_t parent, code, off;
	uint16_t n_off, n_other;        /* readings with its line, and with others */
};

struct interp_chains_frame { uint64_t at; uint32_t code; };

struct interp_chains_seen {
	struct interp_chains_place at;
	struct { uint32_t node, weight; } one[CANDIDATES];
	uint32_t n;                     /* the sum of all weights */
};

void interp_chains_done(struct interp_chains *c)
{
	VEC_FREE(&c->node);
	VEC_FREE(&c->seen);
	hashindex_done(&c->nodes);
	hashindex_done(&c->places);
	VEC_FREE(&c->frame);
	VEC_FREE(&c->head);
	hashindex_done(&c->frames);
	interp_calls_done(&c->calls);
}

void interp_chains_clear(struct interp_chains *c)
{
	uint32_t n = c->n_clears;
	interp_chains_done(c);
	c->n_clears = n + 1;
}

bool interp_chains_is_full(const struct interp_chains *c)
{
	return c->node.n >= NODES_MAX || c->seen.n >= PLACES_MAX ||
	       c->frame.n >= FRAMES_MAX || interp_calls_is_full(&c->calls);
}

/* ---- nodes ------------------------------------------------------------------------------ */

static void note_off(struct interp_chains_node *n, const struct interp_runtime *r, uint32_t off)
{
	bool is_same = n->off == off || (n->n_off && r->line(r->ctx, n->code, n->off) ==
							r->line(r->ctx, n->code, off));
	if (n->n_off + n->n_other >= WEIGHT_MAX) {
		n->n_off /= 2;
		n->n_other /= 2;
	}
	if (!n->n_off || (!is_same && n->n_other > n->n_off)) {
		n->n_other = (uint16_t)(n->n_other + n->n_off);
		n->n_off = 0;
		n->off = off;
		is_same = true;
	}
	n->n_off += is_same;
	n->n_other += !is_same;
}

/* The caller that link is, called by those of parent. */
static uint32_t add_node(struct interp_chains *c, uint32_t parent, const struct interp_link *link)
{
	uint64_t hash = hash_pair(parent, link->code);
	uint32_t i = HASHINDEX_FIND(&c->nodes, hash, k, c->node.v[k].parent == parent &&
							c->node.v[k].code == link->code);
	if (i != HASHINDEX_NONE)
		return i;
	const struct interp_chains_node n = { .parent = parent, .code = link->code };
	if (c->node.n >= NODES_MAX || !hashindex_reserve(&c->nodes, false) ||
	    !VEC_PUSH(&c->node, n))
		return INTERP_CHAINS_NONE;
	i = (uint32_t)c->node.n - 1;
	hashindex_put(&c->nodes, hash, i);
	return i;
}

/* The first node stands for no callers. */
static bool has_nodes(struct interp_chains *c)
{
	return c->node.n || VEC_PUSH(&c->node, ((struct interp_chains_node){ .parent = 0 }));
}

uint32_t interp_chains_node(struct interp_chains *c, uint32_t outer,
			    const struct interp_link *link, size_t n)
{
	uint32_t node = has_nodes(c) ? outer : INTERP_CHAINS_NONE;
	while (n-- > 0 && node != INTERP_CHAINS_NONE)
		node = add_node(c, node, &link[n]);
	return node;
}

uint32_t interp_chains_node_with_lines(struct interp_chains *c, const struct interp_link *link,
				       size_t n)
{
	uint32_t node = has_nodes(c) ? 0 : INTERP_CHAINS_NONE;
	while (n-- > 0 && node != INTERP_CHAINS_NONE) {
		node = add_node(c, node, &link[n]);
		if (node == INTERP_CHAINS_NONE || !link[n].off || c->node.v[node].n_other)
			continue;
		c->node.v[node].off = link[n].off;
		c->node.v[node].n_off = 1;
	}
	return node;
}

struct interp_chains_caller interp_chains_caller(const struct interp_chains *c, uint32_t node)
{
	const struct interp_chains_node *n = &c->node.v[node];
	return (struct interp_chains_caller){
		.code = n->code, .off = n->off, .next = n->parent,
		.has_off = n->n_off * 10u >= (n->n_off + n->n_other) * TENTHS && n->n_off,
	};
}

/* ---- places ----------------------------------------------------------------------------- */

static uint64_t hash_place(const struct interp_chains_place *at)
{
	return hash_pair(hash_pair(at->frame, at->outer), hash_pair(at->code, at->outer_code));
}

static uint32_t seen_at(const struct interp_chains *c, const struct interp_chains_place *at)
{
	return HASHINDEX_FIND(&c->places, hash_place(at), k,
			      c->seen.v[k].at.frame == at->frame &&
			      c->seen.v[k].at.outer == at->outer &&
			      c->seen.v[k].at.code == at->code &&
			      c->seen.v[k].at.outer_code == at->outer_code);
}

bool interp_chains_has(const struct interp_chains *c, uint32_t code, uint64_t frame)
{
	return HASHINDEX_FIND(&c->frames, hash_pair(code, frame), k,
			      c->frame.v[k].at == frame && c->frame.v[k].code == code) !=
	       HASHINDEX_NONE;
}

static void add_frame(struct interp_chains *c, uint32_t code, uint64_t frame)
{
	const struct interp_chains_frame f = { frame, code };
	if (c->frame.n < FRAMES_MAX && !interp_chains_has(c, code, frame) &&
	    hashindex_reserve(&c->frames, false) && VEC_PUSH(&c->frame, f))
		hashindex_put(&c->frames, hash_pair(code, frame), (uint32_t)c->frame.n - 1);
}

static void add_weight(struct interp_chains_seen *s, uint32_t node)
{
	uint32_t i = 0, least = 0;
	while (i < CANDIDATES && !(s->one[i].weight && s->one[i].node == node))
		i++;
	for (uint32_t k = 1; k < CANDIDATES; k++)
		least = s->one[k].weight < s->one[least].weight ? k : least;
	if (i == CANDIDATES) {
		/* the weight of the one that it replaces still counts against the others */
		i = least;
		s->one[i].weight = 0;
	}
	s->one[i].node = node;
	s->one[i].weight++;
	if (++s->n < WEIGHT_MAX)
		return;
	s->n = 0;
	for (i = 0; i < CANDIDATES; i++)
		s->n += s->one[i].weight /= 2;
}

static void add_seen(struct interp_chains *c, const struct interp_chains_place *at, uint32_t node)
{
	uint32_t i = seen_at(c, at);
	if (i == HASHINDEX_NONE) {
		const struct interp_chains_seen s = { .at = *at };
		if (c->seen.n >= PLACES_MAX || !hashindex_reserve(&c->places, false) ||
		    !VEC_PUSH(&c->seen, s))
			return;
		i = (uint32_t)c->seen.n - 1;
		hashindex_put(&c->places, hash_place(at), i);
	}
	add_weight(&c->seen.v[i], node);
}

static void learn_place(struct interp_chains *c, const struct interp_base *base,
			const struct interp_link *l, uint32_t node)
{
	const struct interp_chains_place at = interp_base_place(base, l->code, l->at);
	add_seen(c, &at, node);
	if (!c->is_common)
		add_frame(c, l->code, l->at);
}

/* An activation: its functions are those from index `first` to before `end`. */
static void learn_activation(struct interp_chains *c, const struct interp_runtime *r,
			     const struct interp_base *base, const struct interp_link *link,
			     size_t first, size_t end)
{
	uint32_t node = 0;
	if (link[end - 1].code != INTERP_NO_CODE)
		interp_calls_add_first(&c->calls, base, link[end - 1].code);
	for (size_t i = end; i-- > first && link[i].code != INTERP_NO_CODE;) {
		const struct interp_link *l = &link[i];
		if (i < LEARNED_MAX && (!c->is_common || interp_base_has(base, l->at)))
			learn_place(c, base, l, node);
		node = add_node(c, node, l);
		if (node == INTERP_CHAINS_NONE)
			return;
		/* the innermost function is on any of its lines */
		if (i == first)
			return;
		note_off(&c->node.v[node], r, l->off);
		if (link[i - 1].code != INTERP_NO_CODE)
			interp_calls_add(&c->calls, l->code, link[i - 1].code);
	}
}

/* The innermost function of each activation. */
static bool list_heads(struct interp_chains *c, const struct interp_chain *chain)
{
	size_t first = 0;
	c->head.n = 0;
	for (size_t i = 0; i < chain->ends.n && first < chain->link.n; i++) {
		const struct interp_link *l = &chain->link.v[first];
		if (!VEC_PUSH(&c->head, ((struct interp_base_head){ l->code, l->off, l->at })))
			return false;
		first = chain->ends.v[i];
	}
	return true;
}

void interp_chains_learn(struct interp_chains *c, const struct interp_runtime *r,
			 const struct interp_chain *chain)
{
	size_t first = 0;
	uint64_t root = interp_base_root(r, chain);
	if (!has_nodes(c) || !list_heads(c, chain))
		return;
	for (size_t i = 0; i < c->head.n && chain->ends.v[i] <= chain->link.n; i++) {
		size_t end = chain->ends.v[i], n_outer = c->head.n - i - 1;
		const struct interp_base base =
			interp_base_find(r, c->head.v + i + 1, n_outer, root);
		if (end > first && first < LEARNED_MAX)
			learn_activation(c, r, &base, chain->link.v, first, end);
		first = end;
	}
}

uint32_t interp_chains_find(const struct interp_chains *c, const struct interp_chains_place *at)
{
	uint32_t i = seen_at(c, at), best = 0;
	if (i == HASHINDEX_NONE)
		return INTERP_CHAINS_NONE;
	const struct interp_chains_seen *s = &c->seen.v[i];
	for (uint32_t k = 1; k < CANDIDATES; k++)
		best = s->one[k].weight > s->one[best].weight ? k : best;
	return s->one[best].weight >= 2 && s->one[best].weight * 10 >= s->n * TENTHS
		       ? s->one[best].node : INTERP_CHAINS_NONE;
}

uint32_t interp_chains_compose(struct interp_chains *c, const struct interp_runtime *r,
			       const struct interp_base *base, enum interp_entry entry,
			       uint32_t code, uint64_t frame)
{
	const struct interp_calls_frames frames = { r->ctx, r->frames_where };
	struct interp_link link[INTERP_CALLS_DEPTH];
	size_t n;
	if (!interp_base_has(base, frame))
		return INTERP_CHAINS_NONE;
	switch (interp_calls_find(&c->calls, &frames, base, entry, code, frame - base->at, link,
				  &n)) {
	case INTERP_CALLS_ONE:
		return interp_chains_node(c, 0, link, n);
	case INTERP_CALLS_SEVERAL:
		return INTERP_CHAINS_SEVERAL;
	case INTERP_CALLS_NONE:
		break;
	}
	return INTERP_CHAINS_NONE;
}
