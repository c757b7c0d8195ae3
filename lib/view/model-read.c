/*
 * Each file's samples are read one at a time and their parts looked up in tables over the
 * arrays that were made so far (dedup.h).  What a file's own indices mean is remembered
 * for each file, so that a location is compared with others once, not at each sample; a sample
 * costs the hash of its stack, of its labels' pointers, and of the pair.
 */

#include "view/model.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/vec.h"
#include "proto/pprof-read.h"
#include "proto/pprof-samples.h"
#include "view/dedup.h"
#include "view/scale.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX (UINT32_MAX - 1)
#define PAGE 4096u

struct builder {
	struct model *m;
	VEC(struct model_mapping) mappings;
	VEC(struct model_function) functions;
	VEC(struct model_line) lines;
	VEC(struct model_location) locations;
	VEC(struct model_stack) stacks;
	VEC(uint32_t) stack_locations;
	VEC(struct model_label) labels;
	VEC(struct model_labels) label_sets;
	VEC(struct model_sample) samples;
	VEC(int64_t) values;
	VEC(uint32_t) comments;
	struct dedup by_mapping, by_function, by_location, by_stack, by_labels, by_sample;
	struct err *e;
};

/* One label set of the file as it came, by the addresses of its strings. */
struct raw_set { size_t first, n; uint32_t id; };

struct file {
	const struct profile *head;
	uint32_t *mapping, *function, *location;  /* the model's; MODEL_NONE: not asked for */
	double *ratio;  /* by sample type: from its unit to the model's */
	bool scales;
	VEC(struct profile_label) raw_labels;
	VEC(struct raw_set) raw_sets;
	struct dedup by_raw;
};

static int no_memory(struct builder *b)
{
	return err_errno(b->e, ENOMEM, "cannot hold the profile");
}

/* Room for one more of a kind. */
#define MAKE_ROOM(b, array) \
	({ \
		int made_ = 0; \
		if ((array)->n >= ITEMS_MAX) \
			made_ = err_set((b)->e, E2BIG, "more than 2^32 items in all"); \
		else if (!VEC_RESERVE(array, 1)) \
			made_ = no_memory(b); \
		made_; \
	})

static uint32_t string(struct builder *b, const char *s)
{
	return strtab_add_cstr(&b->m->strings, s);
}

/* ---- parts of a location -------------------------------------------------- */

static uint64_t pages(const struct model_mapping *m)
{
	return (m->memory_limit - m->memory_start + PAGE - 1) / PAGE;
}

static uint32_t identity(const struct model_mapping *m)
{
	return m->build_id ? m->build_id : m->filename;
}

static int add_mapping(struct builder *b, struct file *f, const struct profile_mapping *from,
		       uint32_t *ret)
{
	size_t i = (size_t)(from - f->head->mapping), at = 0;
	if (f->mapping[i] != MODEL_NONE) {
		*ret = f->mapping[i];
		return 0;
	}
	struct model_mapping want = {
		from->memory_start, from->memory_limit, from->file_offset,
		string(b, from->filename), string(b, from->build_id),
		from->has_functions, from->has_filenames, from->has_line_numbers,
		from->has_inline_frames,
	};
	uint64_t hash = hash_pair(pages(&want), hash_pair(want.file_offset, identity(&want)));
	uint32_t k;
	while ((k = dedup_next(&b->by_mapping, hash, &at)) != DEDUP_NONE) {
		const struct model_mapping *have = &b->mappings.v[k];
		if (pages(have) == pages(&want) && have->file_offset == want.file_offset &&
		    identity(have) == identity(&want)) {
			*ret = f->mapping[i] = k;
			return 0;
		}
	}
	int r = MAKE_ROOM(b, &b->mappings);
	if (r < 0)
		return r;
	k = (uint32_t)b->mappings.n;
	if (!dedup_add(&b->by_mapping, hash, k))
		return no_memory(b);
	b->mappings.v[b->mappings.n++] = want;
	*ret = f->mapping[i] = k;
	return 0;
}

static int add_function(struct builder *b, struct file *f, const struct profile_function *from,
			uint32_t *ret)
{
	size_t i = (size_t)(from - f->head->function), at = 0;
	if (f->function[i] != MODEL_NONE) {
		*ret = f->function[i];
		return 0;
	}
	struct model_function want = { from->start_line, string(b, from->name),
				       string(b, from->system_name), string(b, from->filename) };
	uint64_t hash = hash_pair((uint64_t)want.name << 32 | want.filename,
				  hash_pair(want.system_name, (uint64_t)want.start_line));
	uint32_t k;
	while ((k = dedup_next(&b->by_function, hash, &at)) != DEDUP_NONE) {
		const struct model_function *have = &b->functions.v[k];
		if (have->name == want.name && have->filename == want.filename &&
		    have->system_name == want.system_name && have->start_line == want.start_line) {
			*ret = f->function[i] = k;
			return 0;
		}
	}
	int r = MAKE_ROOM(b, &b->functions);
	if (r < 0)
		return r;
	k = (uint32_t)b->functions.n;
	if (!dedup_add(&b->by_function, hash, k))
		return no_memory(b);
	b->functions.v[b->functions.n++] = want;
	*ret = f->function[i] = k;
	return 0;
}

/* Appends the lines of a location, which stay only if the location is a new one. */
static int append_lines(struct builder *b, struct file *f, const struct profile_location *from)
{
	for (size_t i = 0; i < from->n_lines; i++) {
		const struct profile_line *l = &from->line[i];
		struct model_line line = { l->line, l->column, MODEL_NONE };
		int r = l->function ? add_function(b, f, l->function, &line.function) : 0;
		if (r == 0)
			r = MAKE_ROOM(b, &b->lines);
		if (r < 0)
			return r;
		b->lines.v[b->lines.n++] = line;
	}
	return 0;
}

/* By the address in the mapping, which does not depend on where the system loaded it. */
static uint64_t address_in_mapping(const struct builder *b, const struct model_location *l)
{
	return l->mapping == MODEL_NONE ? l->address
					: l->address - b->mappings.v[l->mapping].memory_start;
}

static bool same_location(const struct builder *b, const struct model_location *x,
			  const struct model_location *y)
{
	if (x->mapping != y->mapping || x->address != y->address || x->n_lines != y->n_lines ||
	    x->is_folded != y->is_folded)
		return false;
	for (uint32_t i = 0; i < x->n_lines; i++) {
		const struct model_line *p = &b->lines.v[x->first_line + i];
		const struct model_line *q = &b->lines.v[y->first_line + i];
		if (p->function != q->function || p->line != q->line || p->column != q->column)
			return false;
	}
	return true;
}

static int add_location(struct builder *b, struct file *f, uint32_t index)
{
	const struct profile_location *from = &f->head->location[index];
	struct model_location want = { .address = from->address, .mapping = MODEL_NONE,
				       .is_folded = from->is_folded };
	if (from->mapping) {
		int r = add_mapping(b, f, from->mapping, &want.mapping);
		if (r < 0)
			return r;
		want.address += b->mappings.v[want.mapping].memory_start -
				from->mapping->memory_start;
	}
	size_t n_before = b->lines.n, at = 0;
	int r = append_lines(b, f, from);
	if (r < 0)
		return r;
	want.first_line = (uint32_t)n_before;
	want.n_lines = (uint32_t)(b->lines.n - n_before);
	uint64_t hash = hash_pair(address_in_mapping(b, &want), want.mapping);
	for (uint32_t i = 0; i < want.n_lines; i++) {
		const struct model_line *l = &b->lines.v[n_before + i];
		hash = hash_pair(hash, (uint64_t)l->function << 32 ^ (uint64_t)l->line);
	}
	uint32_t k;
	while ((k = dedup_next(&b->by_location, hash, &at)) != DEDUP_NONE) {
		if (same_location(b, &b->locations.v[k], &want)) {
			b->lines.n = n_before;
			f->location[index] = k;
			return 0;
		}
	}
	r = MAKE_ROOM(b, &b->locations);
	if (r < 0)
		return r;
	k = (uint32_t)b->locations.n;
	if (!dedup_add(&b->by_location, hash, k))
		return no_memory(b);
	b->locations.v[b->locations.n++] = want;
	f->location[index] = k;
	return 0;
}

/* ---- parts of a sample ---------------------------------------------------- */

static int add_stack(struct builder *b, struct file *f, const struct pprof_sample_row *row,
		     uint32_t *ret)
{
	if (row->n_locations > ITEMS_MAX)
		return err_set(b->e, E2BIG, "a stack of more than 2^32 frames");
	if (!VEC_RESERVE(&b->stack_locations, row->n_locations + 1))
		return no_memory(b);
	size_t first = b->stack_locations.n, n = row->n_locations, at = 0;
	uint32_t *out = b->stack_locations.v + first;
	for (size_t i = 0; i < n; i++) {
		uint32_t l = row->location[i];
		if (f->location[l] == MODEL_NONE) {
			int r = add_location(b, f, l);
			if (r < 0)
				return r;
		}
		out[i] = f->location[l];
	}
	uint64_t hash = hash_bytes(n > 0 ? (const void *)out : "", n * sizeof(*out));
	uint32_t k;
	while ((k = dedup_next(&b->by_stack, hash, &at)) != DEDUP_NONE) {
		const struct model_stack *have = &b->stacks.v[k];
		if (have->n == n && (n == 0 || memcmp(b->stack_locations.v + have->first, out,
						      n * sizeof(*out)) == 0)) {
			*ret = k;
			return 0;
		}
	}
	int r = MAKE_ROOM(b, &b->stacks);
	if (r < 0)
		return r;
	k = (uint32_t)b->stacks.n;
	if (!dedup_add(&b->by_stack, hash, k))
		return no_memory(b);
	b->stacks.v[b->stacks.n++] = (struct model_stack){ first, (uint32_t)n };
	b->stack_locations.n += n;
	*ret = k;
	return 0;
}

static bool label_before(const struct builder *b, const struct model_label *x,
			 const struct model_label *y)
{
	if (x->key != y->key)
		return strcmp(strtab_get(&b->m->strings, x->key),
			      strtab_get(&b->m->strings, y->key)) < 0;
	return x->str != 0 && y->str == 0;
}

/* Insertion keeps the order of equal keys, and sets are small; n is bounded so that a hostile
 * one does not take for ever. */
#define LABELS_SORTED_MAX 4096

static int append_labels(struct builder *b, const struct profile_label *from, size_t n)
{
	size_t first = b->labels.n;
	if (n > LABELS_SORTED_MAX)
		return err_set(b->e, E2BIG, "a sample with more than %d labels", LABELS_SORTED_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = MAKE_ROOM(b, &b->labels);
		if (r < 0)
			return r;
		struct model_label l = { .key = string(b, from[i].key) };
		if (from[i].str) {
			l.str = string(b, from[i].str);
		} else {
			l.num = from[i].num;
			l.num_unit = string(b, from[i].num_unit);
		}
		if (!l.str && !l.num && !l.num_unit)
			continue;  /* says nothing; readers take it for no label */
		size_t k = b->labels.n++;
		for (; k > first && label_before(b, &l, &b->labels.v[k - 1]); k--)
			b->labels.v[k] = b->labels.v[k - 1];
		b->labels.v[k] = l;
	}
	return 0;
}

static int add_label_set(struct builder *b, const struct profile_label *from, size_t n,
			 uint32_t *ret)
{
	size_t first = b->labels.n, at = 0;
	int r = append_labels(b, from, n);
	if (r < 0)
		return r;
	n = b->labels.n - first;
	uint64_t hash = n;
	for (size_t i = 0; i < n; i++) {
		const struct model_label *l = &b->labels.v[first + i];
		hash = hash_pair(hash, hash_pair((uint64_t)l->key << 32 | l->str,
						 (uint64_t)l->num ^ (uint64_t)l->num_unit << 40));
	}
	uint32_t k;
	while ((k = dedup_next(&b->by_labels, hash, &at)) != DEDUP_NONE) {
		const struct model_labels *have = &b->label_sets.v[k];
		bool same = have->n == n;
		for (size_t i = 0; same && i < n; i++) {
			const struct model_label *x = &b->labels.v[have->first + i];
			const struct model_label *y = &b->labels.v[first + i];
			same = x->key == y->key && x->str == y->str && x->num == y->num &&
			       x->num_unit == y->num_unit;
		}
		if (same) {
			b->labels.n = first;
			*ret = k;
			return 0;
		}
	}
	if ((r = MAKE_ROOM(b, &b->label_sets)) < 0)
		return r;
	k = (uint32_t)b->label_sets.n;
	if (!dedup_add(&b->by_labels, hash, k))
		return no_memory(b);
	b->label_sets.v[b->label_sets.n++] =
		(struct model_labels){ (uint32_t)first, (uint32_t)n };
	*ret = k;
	return 0;
}

/* Strings of one file are compared by their addresses first: that is enough for most samples. */
static int find_labels(struct builder *b, struct file *f, const struct pprof_sample_row *row,
		       uint32_t *ret)
{
	size_t n_bytes = row->n_labels * sizeof(*row->label), at = 0;
	*ret = 0;
	if (row->n_labels == 0)
		return 0;
	uint64_t hash = hash_bytes(row->label, n_bytes);
	uint32_t k;
	while ((k = dedup_next(&f->by_raw, hash, &at)) != DEDUP_NONE) {
		const struct raw_set *have = &f->raw_sets.v[k];
		if (have->n == row->n_labels &&
		    memcmp(f->raw_labels.v + have->first, row->label, n_bytes) == 0) {
			*ret = have->id;
			return 0;
		}
	}
	int r = add_label_set(b, row->label, row->n_labels, ret);
	if (r == 0)
		r = MAKE_ROOM(b, &f->raw_sets);
	if (r < 0)
		return r;
	if (!VEC_RESERVE(&f->raw_labels, row->n_labels) ||
	    !dedup_add(&f->by_raw, hash, (uint32_t)f->raw_sets.n))
		return no_memory(b);
	f->raw_sets.v[f->raw_sets.n++] =
		(struct raw_set){ f->raw_labels.n, row->n_labels, *ret };
	memcpy(f->raw_labels.v + f->raw_labels.n, row->label, n_bytes);
	f->raw_labels.n += row->n_labels;
	return 0;
}

static int64_t scaled(const struct file *f, size_t type, int64_t value)
{
	if (!f->scales || f->ratio[type] == 1)
		return value;
	double v = (double)value * f->ratio[type];
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

static int add_sample(struct builder *b, struct file *f, const struct pprof_sample_row *row)
{
	size_t n_types = b->m->n_types, at = 0;
	bool zero = true;
	for (size_t i = 0; i < n_types; i++)
		zero = zero && scaled(f, i, row->value[i]) == 0;
	if (zero)
		return 0;
	struct model_sample want = { 0 };
	int r = add_stack(b, f, row, &want.stack);
	if (r == 0)
		r = find_labels(b, f, row, &want.labels);
	if (r < 0)
		return r;
	uint64_t hash = hash_u64((uint64_t)want.stack << 32 | want.labels);
	uint32_t k;
	while ((k = dedup_next(&b->by_sample, hash, &at)) != DEDUP_NONE) {
		const struct model_sample *have = &b->samples.v[k];
		if (have->stack != want.stack || have->labels != want.labels)
			continue;
		int64_t *value = b->values.v + (size_t)k * n_types;
		for (size_t i = 0; i < n_types; i++)
			value[i] = model_add(value[i], scaled(f, i, row->value[i]));
		return 0;
	}
	if ((r = MAKE_ROOM(b, &b->samples)) < 0)
		return r;
	k = (uint32_t)b->samples.n;
	if (!VEC_RESERVE(&b->values, n_types) || !dedup_add(&b->by_sample, hash, k))
		return no_memory(b);
	b->samples.v[b->samples.n++] = want;
	for (size_t i = 0; i < n_types; i++)
		b->values.v[b->values.n++] = scaled(f, i, row->value[i]);
	return 0;
}

/* ---- a file --------------------------------------------------------------- */

/* "sample" and "samples" are one. */
static bool same_type_name(const char *a, const char *b)
{
	size_t n = strlen(a), k = strlen(b);
	n -= n > 0 && a[n - 1] == 's';
	k -= k > 0 && b[k - 1] == 's';
	return n == k && memcmp(a, b, n) == 0;
}

/* How to convert values of the file to those of the model; the model's own samples
 * are converted when the file's unit is the finer one. */
static int match_type(struct builder *b, struct file *f, size_t i)
{
	const struct profile_value_type *have = &f->head->sample_type[i];
	struct model_type *want = &b->m->type[i];
	const char *type = model_string(b->m, want->type), *unit = model_string(b->m, want->unit);
	double ratio = strcmp(have->unit, unit) == 0 ? 1 : scale_ratio(have->unit, unit);
	if (!same_type_name(have->type, type) || ratio == 0)
		return err_set(b->e, EINVAL,
			       "sample type %zu is %s/%s, but %s/%s in the files before", i + 1,
			       have->type, have->unit, type, unit);
	f->ratio[i] = ratio;
	if (ratio < 1) {
		for (size_t k = i; k < b->values.n; k += b->m->n_types) {
			double v = (double)b->values.v[k] / ratio;
			b->values.v[k] = v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN
										: (int64_t)v;
		}
		want->unit = string(b, have->unit);
		f->ratio[i] = 1;
	}
	f->scales = f->scales || f->ratio[i] != 1;
	return 0;
}

static int match_header(struct builder *b, struct file *f)
{
	const struct profile *p = f->head;
	struct model *m = b->m;
	if (p->n_sample_types == 0)
		return err_set(b->e, ENOENT, "the profile has no sample types");
	if (m->n_files == 0) {
		m->type = calloc(p->n_sample_types, sizeof(*m->type));
		if (!m->type || p->n_sample_types > ITEMS_MAX)
			return no_memory(b);
		m->n_types = (uint32_t)p->n_sample_types;
		for (size_t i = 0; i < m->n_types; i++)
			m->type[i] = (struct model_type){ string(b, p->sample_type[i].type),
							  string(b, p->sample_type[i].unit) };
		m->period_type = (struct model_type){ string(b, p->period_type.type),
						      string(b, p->period_type.unit) };
		m->drop_frames = string(b, p->drop_frames);
		m->keep_frames = string(b, p->keep_frames);
		m->doc_url = string(b, p->doc_url);
	}
	const char *type = model_string(m, m->period_type.type);
	const char *unit = model_string(m, m->period_type.unit);
	double ratio = strcmp(p->period_type.unit, unit) == 0
			       ? 1 : scale_ratio(p->period_type.unit, unit);
	if (!same_type_name(p->period_type.type, type) || ratio == 0)
		return err_set(b->e, EINVAL, "the period is %s/%s, but %s/%s in the files before",
			       p->period_type.type, p->period_type.unit, type, unit);
	if (p->n_sample_types != m->n_types)
		return err_set(b->e, EINVAL, "%zu sample types, but %u in the files before",
			       p->n_sample_types, m->n_types);
	f->ratio = calloc(m->n_types, sizeof(*f->ratio));
	if (!f->ratio)
		return no_memory(b);
	for (size_t i = 0; i < m->n_types; i++) {
		int r = match_type(b, f, i);
		if (r < 0)
			return r;
	}
	double period = (double)p->period * ratio;
	if (ratio < 1) {
		m->period = (int64_t)((double)m->period / ratio);
		m->period_type.unit = string(b, p->period_type.unit);
		period = (double)p->period;
	}
	int64_t in_unit = ratio == 1 || period >= 0x1p63 || period <= -0x1p63 ? p->period
									       : (int64_t)period;
	if (m->period == 0 || in_unit > m->period)
		m->period = in_unit;
	return 0;
}

static int add_comments(struct builder *b, const struct profile *p)
{
	for (size_t i = 0; i < p->n_comments; i++) {
		uint32_t id = string(b, p->comment[i]);
		bool known = false;
		for (size_t k = 0; k < b->comments.n && !known; k++)
			known = b->comments.v[k] == id;
		if (known)
			continue;
		int r = MAKE_ROOM(b, &b->comments);
		if (r < 0)
			return r;
		b->comments.v[b->comments.n++] = id;
		if (b->comments.n > 100000)
			return err_set(b->e, E2BIG, "more than 100000 comments");
	}
	return 0;
}

static uint32_t *none_of(size_t n)
{
	uint32_t *map = malloc((n + 1) * sizeof(*map));
	for (size_t i = 0; map && i < n; i++)
		map[i] = MODEL_NONE;
	return map;
}

static int add_samples(struct builder *b, struct file *f, struct pprof_samples *s)
{
	const struct profile *p = f->head;
	struct model *m = b->m;
	f->mapping = none_of(p->n_mappings);
	f->function = none_of(p->n_functions);
	f->location = none_of(p->n_locations);
	if (!f->mapping || !f->function || !f->location)
		return no_memory(b);
	int r = match_header(b, f);
	if (r == 0)
		r = add_comments(b, p);
	uint32_t first;
	if (r == 0 && b->mappings.n == 0 && p->n_mappings > 0)
		r = add_mapping(b, f, &p->mapping[0], &first);
	if (r < 0)
		return r;
	if (m->time_ns == 0 || p->time_nanos < m->time_ns)
		m->time_ns = p->time_nanos;
	m->duration_ns = model_add(m->duration_ns, p->duration_nanos);
	if (!m->default_type)
		m->default_type = string(b, p->default_sample_type);
	m->n_files++;
	struct pprof_sample_row row;
	while ((r = pprof_samples_next(s, &row)) > 0)
		if ((r = add_sample(b, f, &row)) < 0)
			break;
	return r;
}

static int add_file(struct builder *b, struct pprof_samples *s, const struct profile *head)
{
	struct file f = { .head = head };
	int r = add_samples(b, &f, s);
	free(f.mapping);
	free(f.function);
	free(f.location);
	free(f.ratio);
	VEC_FREE(&f.raw_labels);
	VEC_FREE(&f.raw_sets);
	dedup_done(&f.by_raw);
	pprof_samples_close(s);
	return r;
}

/* ---- all ------------------------------------------------------------------ */

static int begin(struct builder *b, struct err *e)
{
	*b = (struct builder){ .m = calloc(1, sizeof(*b->m)), .e = e };
	if (!b->m || strtab_init(&b->m->strings, NULL) < 0 ||
	    !VEC_PUSH(&b->label_sets, ((struct model_labels){ 0 })) ||
	    !dedup_add(&b->by_labels, 0, 0))
		return no_memory(b);
	return 0;
}

#define HAND_OVER(b, array, to, n_to) \
	((b)->m->to = (array)->v, (b)->m->n_to = (uint32_t)(array)->n, (array)->v = NULL)

static int finish(struct builder *b, int r, struct model **ret)
{
	if (b->m) {
		struct model *m = b->m;
		HAND_OVER(b, &b->mappings, mapping, n_mappings);
		HAND_OVER(b, &b->functions, function, n_functions);
		HAND_OVER(b, &b->lines, line, n_lines);
		HAND_OVER(b, &b->locations, location, n_locations);
		HAND_OVER(b, &b->stacks, stack, n_stacks);
		HAND_OVER(b, &b->labels, label, n_label_items);
		HAND_OVER(b, &b->label_sets, labels, n_label_sets);
		HAND_OVER(b, &b->samples, sample, n_samples);
		HAND_OVER(b, &b->comments, comment, n_comments);
		m->stack_location = b->stack_locations.v;
		m->n_stack_locations = b->stack_locations.n;
		m->value = b->values.v;
		/* A name that memory did not suffice for must not look like no name. */
		if (r == 0 && m->n_samples > 0 && !m->value)
			r = no_memory(b);
	}
	dedup_done(&b->by_mapping);
	dedup_done(&b->by_function);
	dedup_done(&b->by_location);
	dedup_done(&b->by_stack);
	dedup_done(&b->by_labels);
	dedup_done(&b->by_sample);
	if (r < 0)
		model_free(b->m);
	else
		*ret = b->m;
	return r;
}

int model_read_parts(const struct model_part *part, size_t n_parts, struct model **ret,
		     struct err *e)
{
	struct builder b;
	int r = begin(&b, e);
	for (size_t i = 0; r == 0 && i < n_parts; i++) {
		struct pprof_samples *s = NULL;
		const struct profile *head = NULL;
		r = pprof_samples_open(part[i].data, part[i].n_bytes, &s, &head, e);
		if (r == 0)
			r = add_file(&b, s, head);
	}
	return finish(&b, r, ret);
}

int model_read(const void *data, size_t n_bytes, struct model **ret, struct err *e)
{
	return model_read_parts(&(struct model_part){ data, n_bytes }, 1, ret, e);
}

int model_read_files(const char *const *path, size_t n_paths, struct model **ret, struct err *e)
{
	struct builder b;
	int r = begin(&b, e);
	for (size_t i = 0; r == 0 && i < n_paths; i++) {
		struct pprof_samples *s = NULL;
		const struct profile *head = NULL;
		const char *name = strcmp(path[i], "-") == 0 ? "/dev/stdin" : path[i];
		r = pprof_samples_open_file(name, &s, &head, e);
		if (r < 0)
			break;
		r = add_file(&b, s, head);
		if (r < 0)
			err_prefix(e, "cannot read '%s'", path[i]);
	}
	return finish(&b, r, ret);
}
