/*
 * Stacks, label sets and samples.  The cost of a sample is three hashes: of its stack, of its
 * labels' pointers and of the pair.
 */

#include "view/model/model-build.h"

#include "base/hash.h"

#include <string.h>

static bool same_stack(const struct model_builder *b, const struct model_stack *x,
		       const uint32_t *location, size_t n)
{
	return x->n == n && (n == 0 || memcmp(b->stack_locations.v + x->first, location,
					      n * sizeof(*location)) == 0);
}

static int add_stack(struct model_builder *b, struct model_file *f,
		     const struct pprof_sample_row *row, uint32_t *ret)
{
	if (row->n_locations > MODEL_ITEMS_MAX)
		return err_set(b->e, E2BIG, "a stack of more than 2^32 frames");
	if (!VEC_RESERVE(&b->stack_locations, row->n_locations + 1))
		return model_no_memory(b);
	size_t first = b->stack_locations.n, n = row->n_locations;
	uint32_t *out = b->stack_locations.v + first;
	for (size_t i = 0; i < n; i++) {
		uint32_t l = row->location[i];
		if (f->location[l] == MODEL_NONE) {
			int r = model_location_add(b, f, l);
			if (r < 0)
				return r;
		}
		out[i] = f->location[l];
	}
	uint64_t hash = hash_bytes(n > 0 ? (const void *)out : "", n * sizeof(*out));
	uint32_t k = HASHINDEX_FIND(&b->by_stack, hash, i,
				    same_stack(b, &b->stacks.v[i], out, n));
	if (k == HASHINDEX_NONE) {
		k = (uint32_t)b->stacks.n;
		int r = MODEL_ADD(b, &b->stacks, &b->by_stack, hash,
				  (struct model_stack){ first, (uint32_t)n });
		if (r < 0)
			return r;
		b->stack_locations.n += n;
	}
	*ret = k;
	return 0;
}

static bool label_before(const struct model_builder *b, const struct model_label *x,
			 const struct model_label *y)
{
	if (x->key != y->key)
		return strcmp(strtab_get(&b->m->strings, x->key),
			      strtab_get(&b->m->strings, y->key)) < 0;
	return x->str != 0 && y->str == 0;
}

static bool is_dropped(const struct model_builder *b, const char *key)
{
	const struct model_merge *how = b->how;
	if (*b->run && strcmp(key, MODEL_RUN_LABEL) == 0)
		return true;
	for (size_t i = 0; i < how->n_dropped_labels; i++)
		if (strcmp(how->dropped_label[i], key) == 0)
			return true;
	return false;
}

/* Puts a label into its place in the set that begins at `first`.  Insertion sort keeps the order of
 * equal keys, and sets are small; MODEL_LABELS_MAX limits the time for a hostile set. */
static void insert_label(struct model_builder *b, size_t first, struct model_label l)
{
	size_t k = b->labels.n++;
	for (; k > first && label_before(b, &l, &b->labels.v[k - 1]); k--)
		b->labels.v[k] = b->labels.v[k - 1];
	b->labels.v[k] = l;
}

static int append_labels(struct model_builder *b, const struct model_file *f,
			 const struct profile_label *from, size_t n)
{
	size_t first = b->labels.n;
	bool has_window = false;
	if (n > MODEL_LABELS_MAX)
		return err_set(b->e, E2BIG, "a sample with more than %u labels", MODEL_LABELS_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = MODEL_MAKE_ROOM(b, &b->labels);
		if (r < 0)
			return r;
		if (is_dropped(b, from[i].key))
			continue;
		has_window |= strcmp(from[i].key, "window") == 0;
		struct model_label l = { .key = model_intern(b, from[i].key) };
		if (from[i].str) {
			l.str = model_intern(b, from[i].str);
		} else {
			l.num = from[i].num;
			l.num_unit = model_intern(b, from[i].num_unit);
		}
		if (!l.str && !l.num && !l.num_unit)
			continue;  /* an empty label; readers ignore it */
		insert_label(b, first, l);
	}
	/* of files that were merged before, theirs stay */
	bool adds_window = *f->window && !has_window;
	int r = adds_window ? MODEL_MAKE_ROOM(b, &b->labels) : 0;
	if (r == 0 && adds_window)
		insert_label(b, first, (struct model_label){
			.key = model_intern(b, "window"), .str = model_intern(b, f->window) });
	if (r == 0 && *b->run)
		r = MODEL_MAKE_ROOM(b, &b->labels);
	if (r == 0 && *b->run)
		insert_label(b, first, (struct model_label){
			.key = model_intern(b, MODEL_RUN_LABEL), .str = model_intern(b, b->run) });
	return r;
}

static bool same_labels(const struct model_builder *b, const struct model_labels *set,
			size_t first, size_t n)
{
	if (set->n != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct model_label *x = &b->labels.v[set->first + i];
		const struct model_label *y = &b->labels.v[first + i];
		if (x->key != y->key || x->str != y->str || x->num != y->num ||
		    x->num_unit != y->num_unit)
			return false;
	}
	return true;
}

static int add_label_set(struct model_builder *b, const struct model_file *f,
			 const struct profile_label *from, size_t n, uint32_t *ret)
{
	size_t first = b->labels.n;
	int r = append_labels(b, f, from, n);
	if (r < 0)
		return r;
	n = b->labels.n - first;
	uint64_t hash = n;
	for (size_t i = 0; i < n; i++) {
		const struct model_label *l = &b->labels.v[first + i];
		hash = hash_pair(hash, hash_pair((uint64_t)l->key << 32 | l->str,
						 (uint64_t)l->num ^ (uint64_t)l->num_unit << 40));
	}
	uint32_t k = HASHINDEX_FIND(&b->by_labels, hash, i,
				    same_labels(b, &b->label_sets.v[i], first, n));
	if (k != HASHINDEX_NONE) {
		b->labels.n = first;
	} else {
		k = (uint32_t)b->label_sets.n;
		r = MODEL_ADD(b, &b->label_sets, &b->by_labels, hash,
			      (struct model_labels){ (uint32_t)first, (uint32_t)n });
		if (r < 0)
			return r;
	}
	*ret = k;
	return 0;
}

static bool same_raw(const struct model_file *f, const struct model_raw_set *set,
		     const struct pprof_sample_row *row, size_t n_bytes)
{
	return set->n == row->n_labels &&
	       (n_bytes == 0 || memcmp(f->raw_labels.v + set->first, row->label, n_bytes) == 0);
}

/* Compares the strings of one file by address first, which suffices for most samples. */
static int find_labels(struct model_builder *b, struct model_file *f,
		       const struct pprof_sample_row *row, uint32_t *ret)
{
	size_t n_bytes = row->n_labels * sizeof(*row->label);
	*ret = 0;
	if (row->n_labels == 0 && !*f->window && !*b->run)
		return 0;
	uint64_t hash = hash_bytes(row->n_labels ? (const void *)row->label : "", n_bytes);
	uint32_t k = HASHINDEX_FIND(&f->by_raw, hash, i,
				    same_raw(f, &f->raw_sets.v[i], row, n_bytes));
	if (k != HASHINDEX_NONE) {
		*ret = f->raw_sets.v[k].id;
		return 0;
	}
	int r = add_label_set(b, f, row->label, row->n_labels, ret);
	if (r < 0)
		return r;
	if (!VEC_RESERVE(&f->raw_labels, row->n_labels))
		return model_no_memory(b);
	r = MODEL_ADD(b, &f->raw_sets, &f->by_raw, hash,
		      (struct model_raw_set){ f->raw_labels.n, row->n_labels, *ret });
	if (r < 0)
		return r;
	if (n_bytes)
		memcpy(f->raw_labels.v + f->raw_labels.n, row->label, n_bytes);
	f->raw_labels.n += row->n_labels;
	return 0;
}

static int64_t scaled(const struct model_file *f, size_t type, int64_t value)
{
	if (!f->scales || f->ratio[type] == 1)
		return value;
	double v = (double)value * f->ratio[type];
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

int model_sample_add(struct model_builder *b, struct model_file *f,
		     const struct pprof_sample_row *row)
{
	size_t n_types = b->m->n_types;
	bool zero = true;
	for (size_t i = 0; i < n_types; i++)
		zero = zero && scaled(f, i, row->value[i]) == 0;
	if (zero)
		return 0;
	struct model_sample want = { 0 };
	int r = add_stack(b, f, row, &want.stack);
	if (r < 0)
		return r;
	r = find_labels(b, f, row, &want.labels);
	if (r < 0)
		return r;
	uint64_t hash = hash_u64((uint64_t)want.stack << 32 | want.labels);
	uint32_t k = HASHINDEX_FIND(&b->by_sample, hash, i,
				    b->samples.v[i].stack == want.stack &&
				    b->samples.v[i].labels == want.labels);
	if (k != HASHINDEX_NONE) {
		int64_t *value = b->values.v + (size_t)k * n_types;
		for (size_t i = 0; i < n_types; i++)
			value[i] = model_add(value[i], scaled(f, i, row->value[i]));
		return 0;
	}
	if (!VEC_RESERVE(&b->values, n_types))
		return model_no_memory(b);
	r = MODEL_ADD(b, &b->samples, &b->by_sample, hash, want);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_types; i++)
		b->values.v[b->values.n++] = scaled(f, i, row->value[i]);
	return 0;
}
