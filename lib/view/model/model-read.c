/*
 * Reads the samples of each file one by one and looks up their parts in indices of the model's
 * arrays (model-location.c, model-sample.c).  A translation of the file's own indices is kept while
 * it is read, so that each location is compared with others only once, not for each sample.
 */

#include "view/model/model-build.h"

#include "base/hash.h"
#include "view/model/scale.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define COMMENTS_MAX 100000
#define KEPT_MAX ((size_t)1 << 18)   /* items of decoded samples: a few MiB */

/* ---- one file ------------------------------------------------------------- */

/* "sample" and "samples" are the same. */
static bool same_type_name(const char *a, const char *b)
{
	size_t n = strlen(a), k = strlen(b);
	n -= n > 0 && a[n - 1] == 's';
	k -= k > 0 && b[k - 1] == 's';
	return n == k && memcmp(a, b, n) == 0;
}

/* Finds the ratio from the file's unit to the model's.  If the file's unit is finer, converts the
 * model's samples instead. */
static int match_type(struct model_builder *b, struct model_file *f, size_t i)
{
	const struct profile_value_type *have = &f->head->sample_type[i];
	struct model_type *want = &b->m->type[i];
	const char *type = model_string(b->m, want->type), *unit = model_string(b->m, want->unit);
	double ratio = strcmp(have->unit, unit) == 0 ? 1 : scale_ratio(have->unit, unit);
	if (!same_type_name(have->type, type) || ratio == 0)
		return err_set(b->e, EINVAL,
			       "sample type %zu is %s/%s, but %s/%s in earlier files", i + 1,
			       have->type, have->unit, type, unit);
	f->ratio[i] = ratio;
	if (ratio < 1) {
		for (size_t k = i; k < b->values.n; k += b->m->n_types) {
			double v = (double)b->values.v[k] / ratio;
			b->values.v[k] = v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN
										: (int64_t)v;
		}
		want->unit = model_intern(b, have->unit);
		f->ratio[i] = 1;
	}
	f->scales = f->scales || f->ratio[i] != 1;
	return 0;
}

int model_build_types(struct model_builder *b, const struct profile_value_type *type, size_t n)
{
	struct model *m = b->m;
	struct model_type *v = n <= MODEL_ITEMS_MAX ? calloc(n, sizeof(*v)) : NULL;
	if (!v)
		return model_no_memory(b);
	for (size_t i = 0; i < n; i++)
		v[i] = (struct model_type){ model_intern(b, type[i].type),
					    model_intern(b, type[i].unit) };
	m->type = v;
	m->n_types = (uint32_t)n;
	return 0;
}

static int match_header(struct model_builder *b, struct model_file *f)
{
	const struct profile *p = f->head;
	struct model *m = b->m;
	if (p->n_sample_types == 0)
		return err_set(b->e, ENOENT, "the profile has no sample types");
	if (!m->type && model_build_types(b, p->sample_type, p->n_sample_types) == 0) {
		m->period_type = (struct model_type){ model_intern(b, p->period_type.type),
						      model_intern(b, p->period_type.unit) };
		m->drop_frames = model_intern(b, p->drop_frames);
		m->keep_frames = model_intern(b, p->keep_frames);
		m->doc_url = model_intern(b, p->doc_url);
	}
	if (!m->type)
		return model_no_memory(b);
	const char *type = model_string(m, m->period_type.type);
	const char *unit = model_string(m, m->period_type.unit);
	double ratio = strcmp(p->period_type.unit, unit) == 0
			       ? 1 : scale_ratio(p->period_type.unit, unit);
	if (!same_type_name(p->period_type.type, type) || ratio == 0)
		return err_set(b->e, EINVAL, "the period is %s/%s, but %s/%s in earlier files",
			       p->period_type.type, p->period_type.unit, type, unit);
	if (p->n_sample_types != m->n_types)
		return err_set(b->e, EINVAL, "%zu sample types, but %u in earlier files",
			       p->n_sample_types, m->n_types);
	f->ratio = calloc(m->n_types, sizeof(*f->ratio));
	if (!f->ratio)
		return model_no_memory(b);
	for (size_t i = 0; i < m->n_types; i++) {
		int r = match_type(b, f, i);
		if (r < 0)
			return r;
	}
	double period = (double)p->period * ratio;
	if (ratio < 1) {
		m->period = (int64_t)((double)m->period / ratio);
		m->period_type.unit = model_intern(b, p->period_type.unit);
		period = (double)p->period;
	}
	int64_t in_unit = ratio == 1 || period >= 0x1p63 || period <= -0x1p63 ? p->period
									       : (int64_t)period;
	if (m->period == 0 || in_unit > m->period)
		m->period = in_unit;
	return 0;
}

static int add_comments(struct model_builder *b, const struct profile *p)
{
	for (size_t i = 0; i < p->n_comments; i++) {
		uint32_t id = model_intern(b, p->comment[i]);
		uint64_t hash = hash_u64(id);
		if (HASHINDEX_FIND(&b->by_comment, hash, k, b->comments.v[k] == id) !=
		    HASHINDEX_NONE)
			continue;
		if (b->how->n_comments_max && b->comments.n >= b->how->n_comments_max) {
			b->m->has_less_comments = true;
			continue;
		}
		if (b->comments.n >= COMMENTS_MAX)
			return err_set(b->e, E2BIG, "more than %d comments", COMMENTS_MAX);
		int r = MODEL_ADD(b, &b->comments, &b->by_comment, hash, id);
		if (r < 0)
			return r;
	}
	return 0;
}

static uint32_t *new_index_map(size_t n)
{
	uint32_t *map = malloc((n + 1) * sizeof(*map));
	for (size_t i = 0; map && i < n; i++)
		map[i] = MODEL_NONE;
	return map;
}

static int add_kept(struct model_builder *b, struct model_file *f)
{
	const struct model_kept *k = &b->kept;
	size_t location = 0, label = 0;
	for (size_t i = 0; i < k->rows.n; i++) {
		struct pprof_sample_row row = {
			.location = k->locations.v + location, .label = k->labels.v + label,
			.value = k->values.v + i * f->head->n_sample_types,
			.n_locations = k->rows.v[i].n_locations, .n_labels = k->rows.v[i].n_labels,
		};
		int r = model_sample_add(b, f, &row);
		if (r < 0)
			return r;
		location += row.n_locations;
		label += row.n_labels;
	}
	return 0;
}

static int add_samples(struct model_builder *b, struct model_file *f, struct pprof_samples *s)
{
	const struct profile *p = f->head;
	struct model *m = b->m;
	f->mapping = new_index_map(p->n_mappings);
	f->function = new_index_map(p->n_functions);
	f->location = new_index_map(p->n_locations);
	if (!f->mapping || !f->function || !f->location)
		return model_no_memory(b);
	int r = match_header(b, f);
	if (r < 0)
		return r;
	r = add_comments(b, p);
	if (r < 0)
		return r;
	uint32_t first;
	if (b->mappings.n == 0 && p->n_mappings > 0) {
		r = model_location_mapping(b, f, &p->mapping[0], &first);
		if (r < 0)
			return r;
	}
	if (m->time_ns == 0 || p->time_nanos < m->time_ns)
		m->time_ns = p->time_nanos;
	m->duration_ns = model_add(m->duration_ns, p->duration_nanos);
	if (!m->default_type)
		m->default_type = model_intern(b, p->default_sample_type);
	m->n_files++;
	r = model_location_find_all(b, f);
	if (r < 0)
		return r;
	if (b->kept.is_complete)
		return add_kept(b, f);
	struct pprof_sample_row row;
	while ((r = pprof_samples_next(s, &row)) > 0)
		if ((r = model_sample_add(b, f, &row)) < 0)
			break;
	return r;
}

/* Appends n items of any array.  False if out of memory. */
#define APPEND(array, items, n_items) \
	(VEC_RESERVE(array, n_items) && \
	 (memcpy((array)->v + (array)->n, items, (n_items) * sizeof(*(array)->v)), \
	  (array)->n += (n_items), true))

static int keep_row(struct model_builder *b, const struct pprof_sample_row *row, size_t n_values)
{
	struct model_kept *k = &b->kept;
	struct model_kept_row one = { row->n_locations, row->n_labels };
	if (k->locations.n + k->labels.n + k->rows.n > KEPT_MAX)
		k->is_complete = false;
	if (!k->is_complete)
		return 0;
	if ((row->n_locations && !APPEND(&k->locations, row->location, row->n_locations)) ||
	    (row->n_labels && !APPEND(&k->labels, row->label, row->n_labels)) ||
	    (n_values && !APPEND(&k->values, row->value, n_values)) || !VEC_PUSH(&k->rows, one))
		return model_no_memory(b);
	return 0;
}

/* All samples of a file that may be left out are read before the model changes.  A small file's are
 * kept, so that they are decoded once. */
static int check_samples(struct model_builder *b, struct pprof_samples *s, size_t n_values)
{
	struct model_kept *k = &b->kept;
	struct pprof_sample_row row;
	int r = 0;
	k->is_complete = b->how->skip != NULL;
	k->locations.n = k->values.n = k->labels.n = k->rows.n = 0;
	if (!b->how->skip)
		return 0;
	if (!VEC_RESERVE(&k->locations, 1) || !VEC_RESERVE(&k->values, 1) ||
	    !VEC_RESERVE(&k->labels, 1))
		return model_no_memory(b);
	while ((r = pprof_samples_next(s, &row)) > 0) {
		if (row.n_labels > MODEL_LABELS_MAX)
			return err_set(b->e, E2BIG, "a sample with more than %u labels",
				       MODEL_LABELS_MAX);
		r = keep_row(b, &row, n_values);
		if (r < 0)
			return r;
	}
	pprof_samples_rewind(s);
	return r;
}

static void set_window(const struct model_builder *b, struct model_file *f)
{
	uint64_t unit_ns = b->how->window_ns;
	if (!unit_ns || f->head->time_nanos <= 0)
		return;
	uint64_t at_ns = (uint64_t)f->head->time_nanos / unit_ns * unit_ns;
	time_t s = (time_t)(at_ns / 1000000000u);
	struct tm tm;
	size_t n = strftime(f->window, sizeof(f->window), "%Y-%m-%dT%H:%M:%S", gmtime_r(&s, &tm));
	unsigned ms = (unsigned)(at_ns / 1000000u % 1000u);
	if (unit_ns % 1000000000u)
		snprintf(f->window + n, sizeof(f->window) - n, ".%03uZ", ms);
	else
		snprintf(f->window + n, sizeof(f->window) - n, "Z");
}

static int add_file(struct model_builder *b, struct pprof_samples *s, const struct profile *head)
{
	struct model_file f = { .head = head };
	set_window(b, &f);
	int r = check_samples(b, s, head->n_sample_types);
	if (r >= 0)
		r = add_samples(b, &f, s);
	free(f.mapping);
	free(f.function);
	free(f.location);
	free(f.ratio);
	VEC_FREE(&f.raw_labels);
	VEC_FREE(&f.raw_sets);
	hashindex_done(&f.by_raw);
	pprof_samples_close(s);
	return r;
}

/* ---- all files ------------------------------------------------------------ */

int model_build_begin(struct model_builder *b, const struct model_merge *how, struct err *e)
{
	*b = (struct model_builder){ .m = calloc(1, sizeof(*b->m)), .how = how, .e = e };
	budget_init(&b->budget, 0);
	if (!b->m || strtab_init(&b->m->strings, &b->budget) < 0 ||
	    !VEC_PUSH(&b->label_sets, ((struct model_labels){ 0 })) ||
	    !hashindex_add(&b->by_labels, 0, 0))
		return model_no_memory(b);
	return 0;
}

#define MOVE(b, array, to, n_to) \
	((b)->m->to = (array)->v, (b)->m->n_to = (uint32_t)(array)->n, (array)->v = NULL)

int model_build_end(struct model_builder *b, int r, struct model **ret)
{
	if (b->m) {
		struct model *m = b->m;
		m->strings.budget = m->strings.index.budget = NULL;
		MOVE(b, &b->mappings, mapping, n_mappings);
		MOVE(b, &b->functions, function, n_functions);
		MOVE(b, &b->lines, line, n_lines);
		MOVE(b, &b->locations, location, n_locations);
		MOVE(b, &b->stacks, stack, n_stacks);
		MOVE(b, &b->labels, label, n_label_items);
		MOVE(b, &b->label_sets, labels, n_label_sets);
		MOVE(b, &b->samples, sample, n_samples);
		MOVE(b, &b->comments, comment, n_comments);
		m->stack_location = b->stack_locations.v;
		m->n_stack_locations = b->stack_locations.n;
		m->value = b->values.v;
		if (r >= 0 && m->n_samples > 0 && !m->value)
			r = model_no_memory(b);
	}
	hashindex_done(&b->by_mapping);
	hashindex_done(&b->by_function);
	hashindex_done(&b->by_location);
	hashindex_done(&b->by_stack);
	hashindex_done(&b->by_labels);
	hashindex_done(&b->by_sample);
	hashindex_done(&b->by_comment);
	VEC_FREE(&b->kept.locations);
	VEC_FREE(&b->kept.values);
	VEC_FREE(&b->kept.labels);
	VEC_FREE(&b->kept.rows);
	VEC_FREE(&b->wanted);
	if (r < 0)
		model_free(b->m);
	else
		*ret = b->m;
	return r;
}

int model_build_bytes(struct model_builder *b, const void *data, size_t n_bytes)
{
	struct pprof_samples *s = NULL;
	const struct profile *head = NULL;
	int r = pprof_samples_open(data, n_bytes, &s, &head, b->e);
	return r < 0 ? r : add_file(b, s, head);
}

int model_build_file(struct model_builder *b, const char *path)
{
	struct pprof_samples *s = NULL;
	const struct profile *head = NULL;
	const char *name = strcmp(path, "-") == 0 ? "/dev/stdin" : path;
	int r = pprof_samples_open_file(name, &s, &head, b->e);
	if (r < 0)
		return r;
	r = add_file(b, s, head);
	if (r < 0)
		err_prefix(b->e, "cannot read '%s'", path);
	return r;
}

int model_read_parts(const struct model_part *part, size_t n_parts, struct model **ret,
		     struct err *e)
{
	struct model_builder b;
	int r = model_build_begin(&b, &(struct model_merge){ 0 }, e);
	for (size_t i = 0; r >= 0 && i < n_parts; i++)
		r = model_build_bytes(&b, part[i].data, part[i].n_bytes);
	return model_build_end(&b, r, ret);
}

int model_read(const void *data, size_t n_bytes, struct model **ret, struct err *e)
{
	return model_read_parts(&(struct model_part){ data, n_bytes }, 1, ret, e);
}

int model_read_files(const char *const *path, size_t n_paths, struct model **ret, struct err *e)
{
	struct model_builder b;
	int r = model_build_begin(&b, &(struct model_merge){ 0 }, e);
	for (size_t i = 0; r >= 0 && i < n_paths; i++)
		r = model_build_file(&b, path[i]);
	return model_build_end(&b, r, ret);
}
