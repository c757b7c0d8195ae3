/*
 * What the nodes that were not kept become: each kept node gets one more child with the sum of its
 * folded callees.  Tables of the page would lack the functions in there, so their rows get what
 * folded stacks add to them.
 */

#include "view/html/html-tree-private.h"

#include "base/cleanup.h"

#include <stdlib.h>

/* The rows of a frame by function, line, file and module. */
struct frame_rows { uint32_t row[ROWS_LABEL]; };

struct folding {
	VEC(struct html_sample) sample[2];
	VEC(struct frame_rows) rows[2];      /* of each side, as its frame */
	VEC(uint32_t) last[2][ROWS_LABEL];   /* by row: the last stack that had it */
	uint32_t n_stacks;
	int64_t *value;                      /* of one sample, by type */
};

static void add_values(const struct html_maker *k, struct html_sums *s, uint32_t number,
		       uint32_t frame, const int64_t *value)
{
	int64_t *to = &s->value.v[(size_t)number * k->n_types];
	s->frame.v[number] = frame + 1;
	for (uint32_t t = 0; t < k->n_types; t++)
		to[t] = model_add(to[t], value[t]);
}

/* Adds a stack to the sums of the rows that only its frames from the given depth on have. */
static void add_sums(struct html_maker *k, struct folding *f, const struct html_item *of,
		     uint32_t depth)
{
	const struct html_side *s = &k->side[of->side];
	struct html_item x = html_tree_item(s, of->side, of->sample);
	struct html_sums *sums = k->t->sums[of->side];
	uint32_t place, last = HTML_NO_PLACE;
	f->n_stacks++;
	for (uint32_t t = 0; t < k->n_types; t++)
		f->value[t] = html_value(s, of->sample, t);
	for (uint32_t d = 0; (place = html_tree_next_place(s, &x)) != HTML_NO_PLACE; d++) {
		const struct frame_rows *rows = &f->rows[of->side].v[place];
		for (int by = 0; by < ROWS_LABEL; by++) {
			uint32_t *at = &f->last[of->side][by].v[rows->row[by]];
			if (*at != f->n_stacks && d >= depth)
				add_values(k, &sums[HTML_SUMS_CUM + by], rows->row[by],
					   s->frame.v[place], f->value);
			*at = f->n_stacks;
		}
		last = place;
	}
	if (last != HTML_NO_PLACE)
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
static void put_folded(struct html_maker *k, uint32_t side, struct html_sample *sample,
		       size_t n)
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

static struct html_sample sample_of(const struct html_maker *k, const struct html_item *x,
				    uint32_t node)
{
	const struct html_side *s = &k->side[x->side];
	return (struct html_sample){ .node = node, .index = x->sample,
		.labels = s->labels[s->part->m->sample[x->sample].labels] };
}

static void fold_child(struct html_maker *k, struct folding *f, const struct html_node *c,
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
static void fold_children(struct html_maker *k, struct folding *f, uint32_t node,
			  uint32_t depth, uint32_t folded)
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
	uint32_t i = html_tree_add_child(k, node, folded);
	t->nodes.v[i].n_folded = n;
	t->nodes.v[i].number = ++t->n_numbered;
	for (uint32_t side = 0; side < (uint32_t)k->n_sides; side++)
		put_folded(k, side, f->sample[side].v, f->sample[side].n);
}

static void put_ended(struct html_maker *k, const struct html_node *node)
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
static void number_nodes(struct html_maker *k, struct folding *f, uint32_t folded)
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

static bool make_sums(const struct html_maker *k, struct html_sums *s, size_t n)
{
	return VEC_EXTEND(&s->frame, n) && VEC_EXTEND(&s->value, n * k->n_types);
}

static int open_kind(struct html_maker *k, struct folding *f, int side, enum rows_by by,
		     struct err *e)
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

static int open_rows(struct html_maker *k, struct folding *f, struct err *e)
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

int html_fold(struct html_maker *k, struct err *e)
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
