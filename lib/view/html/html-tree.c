/*
 * A node is a range of samples whose stacks begin alike.  Opening it sorts its range by the next
 * frame, which gives its children.  The largest node is always opened next, until there are enough;
 * so the small ones are never built, and the memory is that of the samples.
 */

#include "view/html/html-tree.h"

#include "base/cleanup.h"
#include "view/html/html-data.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_PLACE UINT32_MAX
#define AHEAD 16                 /* samples */

struct maker {
	struct html_tree *t;
	struct html_tables *tables;
	struct html_side *side;
	int n_sides;
	uint32_t n_types;
	uint32_t *child_of;              /* by frame: the child of the node being opened */
	uint32_t *next_of;               /* by item of that node: its child */
	struct html_item *sorted;
	VEC(uint32_t) heap;              /* nodes that were not opened, the largest first */
	VEC(uint32_t) kept;
};

/* ---- samples ------------------------------------------------------------------------- */

/* The next frame of a stack, outermost first, as an index in s->frame. */
static uint32_t next_place(const struct html_side *s, struct html_item *x)
{
	const uint32_t *location = s->part->m->stack_location;
	while (x->n_frames == 0) {
		if (x->n == 0)
			return NO_PLACE;
		x->n--;
		uint32_t l = location[--x->at];
		x->n_frames = (uint32_t)(s->first[l + 1] - s->first[l]);
	}
	return (uint32_t)s->first[location[x->at]] + --x->n_frames;
}

static struct html_item item_of(const struct html_side *s, uint32_t side, uint32_t i)
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
static void add_samples(struct maker *k, uint32_t side, double *total)
{
	const struct html_side *s = &k->side[side];
	const struct filter *f = s->part->f;
	for (uint32_t t = 0; t < k->n_types; t++)
		total[t] = total_of(s, t);
	for (uint32_t i = 0; i < s->part->m->n_samples && !k->tables->failed; i++) {
		struct html_item x = item_of(s, side, i);
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

static bool is_before(const struct maker *k, uint32_t a, uint32_t b)
{
	const struct html_node *x = &k->t->nodes.v[a], *y = &k->t->nodes.v[b];
	return x->weight != y->weight ? x->weight > y->weight : a < b;
}

static void heap_push(struct maker *k, uint32_t node)
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

static void heap_pop(struct maker *k)
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

static uint32_t add_child(struct maker *k, uint32_t parent, uint32_t frame)
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
static void sort_by_child(struct maker *k, uint32_t node)
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

static void open_node(struct maker *k, uint32_t node)
{
	struct html_item *item = k->t->items.v + k->t->nodes.v[node].first;
	uint32_t n = k->t->nodes.v[node].n, n_ended = 0, child = 0;
	for (uint32_t i = 0; i < n && !k->tables->failed; i++) {
		/* Stacks are far apart in memory. */
		if (i + AHEAD < n)
			__builtin_prefetch(&k->side[item[i + AHEAD].side]
						    .part->m->stack_location[item[i + AHEAD].at]);
		const struct html_side *s = &k->side[item[i].side];
		uint32_t place = next_place(s, &item[i]);
		k->next_of[i] = 0;
		if (place == NO_PLACE) {
			n_ended++;
			continue;
		}
		uint32_t frame = s->frame.v[place];
		child = k->child_of[frame];
		if (!child)
			child = k->child_of[frame] = add_child(k, node, frame);
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

static void open_largest(struct maker *k)
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

/* ---- folding -------------------------------------------------------------------------- */

/* The rows of a frame by function, line, file and module. */
struct frame_rows { uint32_t row[ROWS_LABEL]; };

struct folding {
	VEC(struct html_sample) sample[2];
	VEC(struct frame_rows) rows[2];      /* of each side, as its frame */
	VEC(uint32_t) last[2][ROWS_LABEL];   /* by row: the last stack that had it */
	uint32_t n_stacks;
	int64_t *value;                      /* of one sample, by type */
};

static void add_values(const struct maker *k, struct html_sums *s, uint32_t number, uint32_t frame,
		       const int64_t *value)
{
	int64_t *to = &s->value.v[(size_t)number * k->n_types];
	s->frame.v[number] = frame + 1;
	for (uint32_t t = 0; t < k->n_types; t++)
		to[t] = model_add(to[t], value[t]);
}

/* Adds a stack to the sums of the rows that only its frames from the given depth on have. */
static void add_sums(struct maker *k, struct folding *f, const struct html_item *of, uint32_t depth)
{
	const struct html_side *s = &k->side[of->side];
	struct html_item x = item_of(s, of->side, of->sample);
	struct html_sums *sums = k->t->sums[of->side];
	uint32_t place, last = NO_PLACE;
	f->n_stacks++;
	for (uint32_t t = 0; t < k->n_types; t++)
		f->value[t] = html_value(s, of->sample, t);
	for (uint32_t d = 0; (place = next_place(s, &x)) != NO_PLACE; d++, last = place) {
		const struct frame_rows *rows = &f->rows[of->side].v[place];
		for (int by = 0; by < ROWS_LABEL; by++) {
			uint32_t *at = &f->last[of->side][by].v[rows->row[by]];
			if (*at != f->n_stacks && d >= depth)
				add_values(k, &sums[HTML_SUMS_CUM + by], rows->row[by],
					   s->frame.v[place], f->value);
			*at = f->n_stacks;
		}
	}
	if (last != NO_PLACE)
		add_values(k, &sums[HTML_SUMS_FLAT], s->frame.v[last], s->frame.v[last], f->value);
}

static int by_labels(const void *va, const void *vb)
{
	const struct html_sample *a = va, *b = vb;
	if (a->labels != b->labels)
		return (a->labels > b->labels) - (a->labels < b->labels);
	return (a->index > b->index) - (a->index < b->index);
}

/* Adds up the samples of a folded box by label set. */
static void put_folded(struct maker *k, uint32_t side, struct html_sample *sample, size_t n)
{
	struct html_tree *t = k->t;
	qsort(sample, n, sizeof(*sample), by_labels);
	for (size_t i = 0; i < n && !k->tables->failed;) {
		uint32_t labels = sample[i].labels;
		struct html_sample sum = { .node = t->n_numbered, .labels = labels,
			.index = HTML_SAMPLE_FOLDED, .first_value = (uint32_t)t->values.n };
		if (!VEC_EXTEND(&t->values, t->values.n + k->n_types) ||
		    !VEC_PUSH(&t->samples[side], sum)) {
			k->tables->failed = true;
			return;
		}
		int64_t *to = &t->values.v[sum.first_value];
		for (; i < n && sample[i].labels == labels; i++)
			for (uint32_t j = 0; j < k->n_types; j++)
				to[j] = model_add(to[j], html_value(&k->side[side],
								    sample[i].index, j));
	}
}

static struct html_sample sample_of(const struct maker *k, const struct html_item *x, uint32_t node)
{
	const struct html_side *s = &k->side[x->side];
	return (struct html_sample){ .node = node, .index = x->sample,
		.labels = s->labels[s->part->m->sample[x->sample].labels] };
}

static void fold_child(struct maker *k, struct folding *f, const struct html_node *c,
		       uint32_t depth)
{
	for (uint32_t i = c->first; i < c->first + c->n && !k->tables->failed; i++) {
		const struct html_item *x = &k->t->items.v[i];
		if (!VEC_PUSH(&f->sample[x->side], sample_of(k, x, 0)))
			k->tables->failed = true;
		add_sums(k, f, x, depth);
	}
}

/* Gives a node a child that stands for its folded ones; depth: the number of frames above these. */
static void fold_children(struct maker *k, struct folding *f, uint32_t node, uint32_t depth,
			  uint32_t folded)
{
	struct html_tree *t = k->t;
	uint32_t n = 0;
	f->sample[0].n = f->sample[1].n = 0;
	for (uint32_t c = t->nodes.v[node].first_child; c; c = t->nodes.v[c].next_sibling) {
		if (t->nodes.v[c].number)
			continue;
		fold_child(k, f, &t->nodes.v[c], depth);
		n++;
	}
	if (!n || k->tables->failed)
		return;
	uint32_t i = add_child(k, node, folded);
	t->nodes.v[i].n_folded = n;
	t->nodes.v[i].number = ++t->n_numbered;
	for (uint32_t side = 0; side < (uint32_t)k->n_sides; side++)
		put_folded(k, side, f->sample[side].v, f->sample[side].n);
}

static void put_ended(struct maker *k, const struct html_node *node)
{
	struct html_tree *t = k->t;
	size_t before[2] = { t->samples[0].n, t->samples[1].n };
	for (uint32_t i = node->first; i < node->first + node->n_ended; i++) {
		const struct html_item *x = &t->items.v[i];
		if (!VEC_PUSH(&t->samples[x->side], sample_of(k, x, node->number)))
			k->tables->failed = true;
	}
	for (int side = 0; side < k->n_sides && !k->tables->failed; side++)
		if (t->samples[side].n > before[side] + 1)
			qsort(t->samples[side].v + before[side], t->samples[side].n - before[side],
			      sizeof(struct html_sample), by_labels);
}

/* Numbers the kept nodes in preorder, folds the others, and lists the samples. */
static void number_nodes(struct maker *k, struct folding *f, uint32_t folded)
{
	struct html_tree *t = k->t;
	uint32_t at = 0, depth = 0;
	for (bool is_new = true; !k->tables->failed;) {
		uint32_t next = is_new ? t->nodes.v[at].first_child : t->nodes.v[at].next_sibling;
		while (next && !t->nodes.v[next].number)
			next = t->nodes.v[next].next_sibling;
		if (next) {
			depth += is_new;
			at = next;
			is_new = true;
			t->nodes.v[at].number = ++t->n_numbered;
			put_ended(k, &t->nodes.v[at]);
			continue;
		}
		/* A new node without kept children is complete, or the parent of a last one. */
		at = is_new ? at : t->nodes.v[at].parent;
		depth -= !is_new;
		fold_children(k, f, at, depth, folded);
		if (at == 0)
			break;
		is_new = false;
	}
}

static bool make_sums(const struct maker *k, struct html_sums *s, size_t n)
{
	return VEC_EXTEND(&s->frame, n) && VEC_EXTEND(&s->value, n * k->n_types);
}

static int open_kind(struct maker *k, struct folding *f, int side, enum rows_by by, struct err *e)
{
	const struct html_side *s = &k->side[side];
	CLEANUP(rows_freep) struct rows *rows = NULL;
	int r = rows_new(s->part->m, s->part->f, by, NULL, &rows, e);
	if (r < 0)
		return r;
	if (!make_sums(k, &k->t->sums[side][HTML_SUMS_CUM + by], rows->n_rows) ||
	    !VEC_EXTEND(&f->last[side][by], rows->n_rows)) {
		k->tables->failed = true;
		return 0;
	}
	for (uint32_t l = 0; l < s->part->m->n_locations; l++) {
		size_t n = rows->first[l + 1] - rows->first[l];
		/* A module has one row for all frames of a location. */
		for (size_t i = s->first[l]; n && i < s->first[l + 1]; i++) {
			size_t at = i - s->first[l] < n ? i - s->first[l] : n - 1;
			f->rows[side].v[i].row[by] = rows->of[rows->first[l] + at];
		}
	}
	return 0;
}

static int open_rows(struct maker *k, struct folding *f, struct err *e)
{
	f->value = calloc(k->n_types, sizeof(*f->value));
	k->tables->failed |= !f->value;
	for (int side = 0; side < k->n_sides; side++) {
		if (!VEC_EXTEND(&f->rows[side], k->side[side].frame.n) ||
		    !make_sums(k, &k->t->sums[side][HTML_SUMS_FLAT], k->tables->frames.n))
			k->tables->failed = true;
		for (int by = 0; by < ROWS_LABEL && !k->tables->failed; by++) {
			int r = open_kind(k, f, side, (enum rows_by)by, e);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int number_and_fold(struct maker *k, struct err *e)
{
	struct folding f = { 0 };
	uint32_t folded = 0;
	int r = 0;
	if (k->t->is_folded) {
		folded = html_add_frame(k->tables, (struct html_frame){
			.name = html_string(k->tables, "[smaller callees]"),
			.flags = HTML_FRAME_NAMED | HTML_FRAME_FOLDED });
		r = open_rows(k, &f, e);
	}
	if (r == 0)
		number_nodes(k, &f, folded);
	for (int side = 0; side < 2; side++) {
		VEC_FREE(&f.sample[side]);
		VEC_FREE(&f.rows[side]);
		for (int by = 0; by < ROWS_LABEL; by++)
			VEC_FREE(&f.last[side][by]);
	}
	free(f.value);
	return r;
}

/* ---- all together ----------------------------------------------------------------------- */

static void grow(struct maker *k)
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
	struct maker k = { .t = t, .tables = tables, .side = side, .n_sides = n_sides,
			   .n_types = n_types };
	grow(&k);
	free(k.child_of);
	free(k.next_of);
	free(k.sorted);
	VEC_FREE(&k.heap);
	VEC_FREE(&k.kept);
	return tables->failed ? 0 : number_and_fold(&k, e);
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
