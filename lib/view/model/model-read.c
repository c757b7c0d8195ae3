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

static int add_kept(struct model_builder *b, struct model_file *f, const struct model_input *in)
{
	struct pprof_sample_row row[MODEL_SAMPLES_AT_ONCE];
	size_t location = 0, value = 0, n_values = f->head->n_sample_types;
	for (size_t i = 0, n; i < in->rows.n; i += n) {
		n = in->rows.n - i < MODEL_SAMPLES_AT_ONCE ? in->rows.n - i : MODEL_SAMPLES_AT_ONCE;
		for (size_t k = 0; k < n; k++) {
			const struct model_row *from = &in->rows.v[i + k];
			row[k] = (struct pprof_sample_row){
				.location = from->n_locations ? &in->locations.v[location] : NULL,
				.value = n_values ? &in->values.v[value] : NULL,
				.label = from->label,
				.n_locations = from->n_locations, .n_labels = from->n_labels,
				.label_set = from->label_set,
			};
			location += from->n_locations;
			value += n_values;
		}
		int r = model_sample_add(b, f, row, n);
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_samples(struct model_builder *b, struct model_file *f, const struct model_input *in)
{
	const struct profile *p = f->head;
	struct model *m = b->m;
	f->mapping = new_index_map(p->n_mappings);
	f->function = new_index_map(p->n_functions);
	f->location = new_index_map(p->n_locations);
	f->string = new_index_map(p->n_strings);
	if (!f->mapping || !f->function || !f->location || !f->string)
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
	if (in->is_complete)
		return add_kept(b, f, in);
	struct pprof_sample_row row;
	while ((r = pprof_samples_next(in->samples, &row)) > 0)
		if ((r = model_sample_add(b, f, &row, 1)) < 0)
			break;
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

int model_build_input(struct model_builder *b, const struct model_input *in)
{
	struct model_file f = { .head = in->head, .tables = in->tables };
	set_window(b, &f);
	int r = add_samples(b, &f, in);
	free(f.mapping);
	free(f.function);
	free(f.location);
	free(f.string);
	free(f.ratio);
	VEC_FREE(&f.label_sets);
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
	VEC_FREE(&b->wanted);
	VEC_FREE(&b->batch);
	if (r < 0)
		model_free(b->m);
	else
		*ret = b->m;
	return r;
}

int model_read_parts(const struct model_part *part, size_t n_parts, struct model **ret,
		     struct err *e)
{
	struct model_builder b;
	struct model_input in = { 0 };
	int r = model_build_begin(&b, &(struct model_merge){ 0 }, e);
	for (size_t i = 0; r >= 0 && i < n_parts; i++) {
		r = model_input_bytes(&in, part[i].data, part[i].n_bytes, false, e);
		if (r >= 0)
			r = model_build_input(&b, &in);
	}
	model_input_done(&in);
	return model_build_end(&b, r, ret);
}

int model_read(const void *data, size_t n_bytes, struct model **ret, struct err *e)
{
	return model_read_parts(&(struct model_part){ data, n_bytes }, 1, ret, e);
}

int model_read_files(const char *const *path, size_t n_paths, struct model **ret, struct err *e)
{
	struct model_builder b;
	struct model_input in = { 0 };
	int r = model_build_begin(&b, &(struct model_merge){ 0 }, e);
	for (size_t i = 0; r >= 0 && i < n_paths; i++) {
		r = model_input_file(&in, path[i], false, e);
		if (r >= 0 && (r = model_build_input(&b, &in)) < 0)
			err_prefix(e, "cannot read '%s'", path[i]);
	}
	model_input_done(&in);
	return model_build_end(&b, r, ret);
}
