/*
 * Stacks, label sets and samples.  The cost of a sample is two hashes: of its stack, and of the
 * pair of stack and labels.  Samples are looked up together, in passes as in model-location.c.
 */

#include "view/model/model-build.h"

#include "base/hash.h"

#include <string.h>

/* A sample on its way into the model. */
struct wanted {
	const struct pprof_sample_row *row;
	size_t first;                   /* of its locations, in b->batch */
	uint64_t hash;                  /* of the stack, then of the sample */
	struct model_sample sample;
};

static bool same_stack(const struct model_builder *b, const struct model_stack *x,
		       const uint32_t *location, size_t n)
{
	return x->n == n && (n == 0 || memcmp(b->stack_locations.v + x->first, location,
					      n * sizeof(*location)) == 0);
}

/* Translates the locations of a stack, and begins to look it up. */
static int want_stack(struct model_builder *b, struct model_file *f, struct wanted *w)
{
	size_t n = w->row->n_locations;
	if (n > MODEL_ITEMS_MAX)
		return err_set(b->e, E2BIG, "a stack of more than 2^32 frames");
	if (!VEC_RESERVE(&b->batch, n + 1))
		return model_no_memory(b);
	uint32_t *out = b->batch.v + b->batch.n;
	for (size_t i = 0; i < n; i++) {
		uint32_t l = w->row->location[i];
		if (f->location[l] == MODEL_NONE) {
			int r = model_location_add(b, f, l);
			if (r < 0)
				return r;
		}
		out[i] = f->location[l];
	}
	w->first = b->batch.n;
	w->hash = hash_bytes(out, n * sizeof(*out));
	b->batch.n += n;
	hashindex_prefetch(&b->by_stack, w->hash);
	return 0;
}

/* Loads the stacks that are probably equal. */
static void guess_stacks(const struct model_builder *b, const struct wanted *w, size_t n)
{
	uint32_t guess[MODEL_SAMPLES_AT_ONCE];
	for (size_t i = 0; i < n; i++) {
		guess[i] = HASHINDEX_FIND(&b->by_stack, w[i].hash, k, true);
		if (guess[i] != HASHINDEX_NONE)
			__builtin_prefetch(&b->stacks.v[guess[i]]);
	}
	for (size_t i = 0; i < n; i++)
		if (guess[i] != HASHINDEX_NONE)
			__builtin_prefetch(b->stack_locations.v + b->stacks.v[guess[i]].first);
}

static int put_stack(struct model_builder *b, struct wanted *w)
{
	size_t n = w->row->n_locations, first = b->stack_locations.n;
	const uint32_t *from = b->batch.v + w->first;
	uint32_t k = HASHINDEX_FIND(&b->by_stack, w->hash, i,
				    same_stack(b, &b->stacks.v[i], from, n));
	w->sample.stack = k;
	if (k != HASHINDEX_NONE)
		return 0;
	w->sample.stack = (uint32_t)b->stacks.n;
	if (!VEC_RESERVE(&b->stack_locations, n + 1))
		return model_no_memory(b);
	memcpy(b->stack_locations.v + first, from, n * sizeof(*from));
	b->stack_locations.n += n;
	return MODEL_ADD(b, &b->stacks, &b->by_stack, w->hash,
			 (struct model_stack){ first, (uint32_t)n });
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

/* Compares labels with those of the model once for each set of the file. */
static int find_labels(struct model_builder *b, struct model_file *f,
		       const struct pprof_sample_row *row, uint32_t *ret)
{
	*ret = 0;
	if (row->n_labels == 0 && !*f->window && !*b->run)
		return 0;
	while (f->label_sets.n <= row->label_set)
		if (!VEC_PUSH(&f->label_sets, MODEL_NONE))
			return model_no_memory(b);
	uint32_t *known = &f->label_sets.v[row->label_set];
	int r = *known == MODEL_NONE ? add_label_set(b, f, row->label, row->n_labels, known) : 0;
	*ret = *known;
	return r;
}

static int64_t scaled(const struct model_file *f, size_t type, int64_t value)
{
	if (!f->scales || f->ratio[type] == 1)
		return value;
	double v = (double)value * f->ratio[type];
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

static bool is_zero(const struct model_file *f, const int64_t *value)
{
	for (size_t i = 0; i < f->head->n_sample_types; i++)
		if (scaled(f, i, value[i]) != 0)
			return false;
	return true;
}

static int put_sample(struct model_builder *b, const struct model_file *f, const struct wanted *w)
{
	size_t n_types = b->m->n_types;
	const int64_t *from = w->row->value;
	uint32_t k = HASHINDEX_FIND(&b->by_sample, w->hash, i,
				    b->samples.v[i].stack == w->sample.stack &&
				    b->samples.v[i].labels == w->sample.labels);
	if (k != HASHINDEX_NONE) {
		int64_t *value = b->values.v + (size_t)k * n_types;
		for (size_t i = 0; i < n_types; i++)
			value[i] = model_add(value[i], scaled(f, i, from[i]));
		return 0;
	}
	if (!VEC_RESERVE(&b->values, n_types))
		return model_no_memory(b);
	int r = MODEL_ADD(b, &b->samples, &b->by_sample, w->hash, w->sample);
	for (size_t i = 0; i < n_types && r == 0; i++)
		b->values.v[b->values.n++] = scaled(f, i, from[i]);
	return r;
}

static void guess_samples(const struct model_builder *b, const struct wanted *w, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t guess = HASHINDEX_FIND(&b->by_sample, w[i].hash, k, true);
		if (guess == HASHINDEX_NONE)
			continue;
		__builtin_prefetch(&b->samples.v[guess]);
		__builtin_prefetch(&b->values.v[(size_t)guess * b->m->n_types]);
	}
}

int model_sample_add(struct model_builder *b, struct model_file *f,
		     const struct pprof_sample_row *row, size_t n)
{
	struct wanted w[MODEL_SAMPLES_AT_ONCE];
	size_t k = 0;
	int r = 0;
	b->batch.n = 0;
	for (size_t i = 0; i < n && r == 0; i++) {
		if (is_zero(f, row[i].value))
			continue;
		w[k].row = &row[i];
		r = want_stack(b, f, &w[k++]);
	}
	if (r < 0)
		return r;
	guess_stacks(b, w, k);
	for (size_t i = 0; i < k && r == 0; i++) {
		r = put_stack(b, &w[i]);
		if (r == 0)
			r = find_labels(b, f, w[i].row, &w[i].sample.labels);
		w[i].hash = hash_u64((uint64_t)w[i].sample.stack << 32 | w[i].sample.labels);
		hashindex_prefetch(&b->by_sample, w[i].hash);
	}
	if (r == 0)
		guess_samples(b, w, k);
	for (size_t i = 0; i < k && r == 0; i++)
		r = put_sample(b, f, &w[i]);
	return r;
}
