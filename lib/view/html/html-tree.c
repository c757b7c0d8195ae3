/*
 * A node is a range of samples whose stacks begin alike.  Opening it sorts its range by the next
 * frame, which gives its children.  The largest node is always opened next, until there are enough;
 * so the small ones are never built, and the memory is that of the samples.
 */

#include "view/html/html-tree-private.h"

#include "base/cleanup.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD 16                 /* samples */

/* ---- samples ------------------------------------------------------------------------- */

uint32_t html_tree_next_place(const struct html_side *s, struct html_item *x)
{
	const uint32_t *location = s->part->m->stack_location;
	while (x->n_frames == 0) {
		if (x->n == 0)
			return HTML_NO_PLACE;
		x->n--;
		uint32_t l = location[--x->at];
		x->n_frames = (uint32_t)(s->first[l + 1] - s->first[l]);
	}
	return (uint32_t)s->first[location[x->at]] + --x->n_frames;
}

struct html_item html_tree_item(const struct html_side *s, uint32_t side, uint32_t i)
{
	const struct model *m = s->part->m;
	const struct filter *f = s->part->f;
	const struct model_stack *stack = &m->stack[m->sample[i].stack];
	uint32_t skip = f ? f->stack_skip[m->sample[i].stack] : 0;
	return (struct html_item){ .sample = i & INT32_MAX, .side = side & 1,
		.at = stack->first + stack->n, .n = stack->n > skip ? stack->n - skip : 0 };
}

static double magnitude_of(const struct html_side *s, uint32_t sample, uint32_t type)
{
	return fabs((double)model_value(s->part->m, sample, s->type[type]));
}

static double total_of(const struct html_side *s, uint32_t type)
{
	double total = 0;
	for (uint32_t i = 0; i < s->part->m->n_samples; i++)
		total += magnitude_of(s, i, type);
	return total;
}

/* A sample's weight is its largest share of a total. */
static void add_samples(struct html_maker *k, uint32_t side, double *total)
{
	const struct html_side *s = &k->side[side];
	const struct filter *f = s->part->f;
	for (uint32_t t = 0; t < k->n_types; t++)
		total[t] = total_of(s, t);
	for (uint32_t i = 0; i < s->part->m->n_samples && !k->tables->failed; i++) {
		struct html_item x = html_tree_item(s, side, i);
		if (f && f->sample_out[i])
			continue;
		for (uint32_t t = 0; t < k->n_types; t++) {
			double share = total[t] > 0 ? magnitude_of(s, i, t) / total[t] : 0;
			x.weight = fmaxf(x.weight, (float)share);
		}
		if (!VEC_PUSH(&k->t->items, x))
			k->tables->failed = true;
	}
}

/* ---- the largest node first -------------------------------------------------------------- */

static bool is_before(const struct html_maker *k, uint32_t a, uint32_t b)
{
	const struct html_node *x = &k->t->nodes.v[a], *y = &k->t->nodes.v[b];
	return x->weight != y->weight ? x->weight > y->weight : a < b;
}

static void heap_push(struct html_maker *k, uint32_t node)
{
	if (!VEC_PUSH(&k->heap, node)) {
		k->tables->failed = true;
		return;
	}
	uint32_t *v = k->heap.v;
	size_t i = k->heap.n - 1;
	for (size_t up; i > 0 && is_before(k, node, v[up = (i - 1) / 2]); i = up)
		v[i] = v[up];
	v[i] = node;
}

static void heap_pop(struct html_maker *k)
{
	uint32_t *v = k->heap.v, node = v[--k->heap.n];
	size_t i = 0;
	for (size_t down; (down = 2 * i + 1) < k->heap.n; i = down) {
		down += down + 1 < k->heap.n && is_before(k, v[down + 1], v[down]);
		if (!is_before(k, v[down], node))
			break;
		v[i] = v[down];
	}
	if (k->heap.n)
		v[i] = node;
}

/* ---- opening ------------------------------------------------------------------------------ */

uint32_t html_tree_add_child(struct html_maker *k, uint32_t parent, uint32_t frame)
{
	uint32_t i = (uint32_t)k->t->nodes.n;
	if (!VEC_PUSH(&k->t->nodes, ((struct html_node){ .parent = parent, .frame = frame }))) {
		k->tables->failed = true;
		return 0;
	}
	struct html_node *p = &k->t->nodes.v[parent];
	if (p->last_child)
		k->t->nodes.v[p->last_child].next_sibling = i;
	else
		p->first_child = i;
	p->last_child = i;
	return i;
}

/* Sorts the samples of a node by its children, in the order of their first samples. */
static void sort_by_child(struct html_maker *k, uint32_t node)
{
	struct html_node *v = k->t->nodes.v;
	struct html_item *item = k->t->items.v + v[node].first;
	uint32_t at = v[node].n_ended, n_ended = 0;
	for (uint32_t c = v[node].first_child; c; c = v[c].next_sibling) {
		v[c].first = at;
		at += v[c].n;
	}
	for (uint32_t i = 0; i < v[node].n; i++) {
		uint32_t child = k->next_of[i];
		k->sorted[child ? v[child].first++ : n_ended++] = item[i];
	}
	memcpy(item, k->sorted, v[node].n * sizeof(*item));
	for (uint32_t c = v[node].first_child; c; c = v[c].next_sibling)
		v[c].first += v[node].first - v[c].n;
}

static void open_node(struct html_maker *k, uint32_t node)
{
	struct html_item *item = k->t->items.v + k->t->nodes.v[node].first;
	uint32_t n = k->t->nodes.v[node].n, n_ended = 0, child = 0;
	for (uint32_t i = 0; i < n && !k->tables->failed; i++) {
		/* Stacks are far apart in memory. */
		if (i + AHEAD < n)
			__builtin_prefetch(&k->side[item[i + AHEAD].side]
						    .part->m->stack_location[item[i + AHEAD].at]);
		const struct html_side *s = &k->side[item[i].side];
		uint32_t place = html_tree_next_place(s, &item[i]);
		k->next_of[i] = 0;
		if (place == HTML_NO_PLACE) {
			n_ended++;
			continue;
		}
		uint32_t frame = s->frame.v[place];
		child = k->child_of[frame];
		if (!child)
			child = k->child_of[frame] =
				html_tree_add_child(k, node, frame);
		k->next_of[i] = child;
		k->t->nodes.v[child].n++;
		k->t->nodes.v[child].weight += item[i].weight;
	}
	struct html_node *v = k->t->nodes.v;
	v[node].n_ended = n_ended;
	if (child && v[child].n == n)
		v[child].first = v[node].first;
	else
		sort_by_child(k, node);
	for (uint32_t c = v[node].first_child; c; c = v[c].next_sibling) {
		k->child_of[v[c].frame] = 0;
		heap_push(k, c);
	}
}

static void open_largest(struct html_maker *k)
{
	struct html_tree *t = k->t;
	while (k->heap.n && !k->tables->failed) {
		uint32_t node = k->heap.v[0];
		double weight = t->nodes.v[node].weight;
		t->folded_max = weight;
		t->is_folded = t->max_nodes ? k->kept.n >= t->max_nodes
					    : k->kept.n >= HTML_TREE_NODES &&
						      weight < HTML_TREE_SHARE_MIN;
		if (t->is_folded)
			break;
		heap_pop(k);
		if (!VEC_PUSH(&k->kept, node))
			k->tables->failed = true;
		t->nodes.v[node].number = 1;
		open_node(k, node);
	}
	/* Boxes of one size are folded all or not at all. */
	for (size_t i = 0; t->is_folded && i < k->kept.n; i++)
		if (t->nodes.v[k->kept.v[i]].weight <= t->folded_max)
			t->nodes.v[k->kept.v[i]].number = 0;
}

/* ---- all together ----------------------------------------------------------------------- */

static void grow(struct html_maker *k)
{
	struct html_tree *t = k->t;
	CLEANUP_FREE double *total = calloc(k->n_types, sizeof(*total));
	k->tables->failed |= !total || !VEC_PUSH(&t->nodes, ((struct html_node){ 0 }));
	for (uint32_t side = 0; side < (uint32_t)k->n_sides && !k->tables->failed; side++)
		add_samples(k, side, total);
	size_t n_frames = k->tables->frames.n, n_items = t->items.n;
	k->child_of = calloc(n_frames + 1, sizeof(*k->child_of));
	k->next_of = calloc(n_items + 1, sizeof(*k->next_of));
	k->sorted = calloc(n_items + 1, sizeof(*k->sorted));
	if (!k->child_of || !k->next_of || !k->sorted)
		k->tables->failed = true;
	if (k->tables->failed)
		return;
	t->nodes.v[0].n = (uint32_t)n_items;
	open_node(k, 0);
	open_largest(k);
}

int html_tree_make(struct html_tree *t, struct html_tables *tables, struct html_side *side,
		   int n_sides, uint32_t n_types, struct err *e)
{
	struct html_maker k = { .t = t, .tables = tables, .side = side, .n_sides = n_sides,
			   .n_types = n_types };
	grow(&k);
	free(k.child_of);
	free(k.next_of);
	free(k.sorted);
	VEC_FREE(&k.heap);
	VEC_FREE(&k.kept);
	return tables->failed ? 0 : html_fold(&k, e);
}

void html_tree_done(struct html_tree *t)
{
	VEC_FREE(&t->nodes);
	VEC_FREE(&t->items);
	VEC_FREE(&t->values);
	for (int side = 0; side < 2; side++) {
		VEC_FREE(&t->samples[side]);
		for (int i = 0; i < HTML_SUMS; i++) {
			VEC_FREE(&t->sums[side][i].value);
			VEC_FREE(&t->sums[side][i].frame);
		}
	}
}
