/*
 * Strings, frames and label sets are shared by all profiles of a page, stacks by the two sides of
 * a comparison.  A location's frames are looked up once, then a stack is a walk over numbers.  The
 * tree grows in the order of the samples, is numbered in preorder, and the samples are
 * sorted by these numbers: neighbours are alike then, which is what gzip likes.
 */

#include "view/html-data.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/strtab.h"
#include "base/utf8.h"
#include "view/dedup.h"
#include "view/html-source.h"
#include "view/scale.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 1

struct frame { int64_t line; uint32_t name, file, module, flags; };
struct label { uint32_t key, value; };
struct set { uint32_t first, n; };
struct node { uint32_t parent, frame, first_child, last_child, next_sibling, number; };
struct sample { uint32_t node, labels, index; };

struct maker {
	const struct html_spec *spec;
	struct html_data *out;
	bool failed;                     /* memory is out */
	struct strtab strings;
	VEC(struct frame) frames;
	VEC(struct label) labels;
	VEC(struct set) sets;            /* in items */
	VEC(uint32_t) items;
	struct dedup by_frame, by_label, by_set;
	VEC(char) clean;                 /* room for one string */
};

/* One profile of a set. */
struct side {
	const struct html_part *part;
	struct rows *rows;
	VEC(uint32_t) frame;             /* of locations, innermost first */
	size_t *first;                   /* by location, in frame */
	uint32_t *labels;                /* by label set of the model */
	VEC(struct sample) samples;
	uint32_t *type;                  /* the model's type for each of the set's */
	double *ratio;
};

struct forest {
	VEC(struct node) nodes;
	struct dedup by_parent;
};

/* ---- bytes ---------------------------------------------------------------- */

static void put_byte(struct maker *k, unsigned b)
{
	if (!VEC_PUSH(&k->out->bytes, (uint8_t)b))
		k->failed = true;
}

static void put_u(struct maker *k, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(k, (unsigned)(v & 0x7f) | 0x80);
	put_byte(k, (unsigned)v);
}

static void put_s(struct maker *k, int64_t v)
{
	put_u(k, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}

static void put_f64(struct maker *k, double v)
{
	uint64_t bits;
	memcpy(&bits, &v, sizeof(bits));
	for (int i = 0; i < 8; i++)
		put_byte(k, (unsigned)(bits >> 8 * i) & 0xff);
}

static void put_bytes(struct maker *k, const void *data, size_t n)
{
	if (!VEC_RESERVE(&k->out->bytes, n)) {
		k->failed = true;
		return;
	}
	memcpy(k->out->bytes.v + k->out->bytes.n, data, n);
	k->out->bytes.n += n;
}

/* ---- what is shared ------------------------------------------------------- */

static uint32_t string(struct maker *k, const char *s)
{
	uint32_t id = strtab_add_cstr(&k->strings, s);
	k->failed = k->failed || (id == 0 && s[0]);
	return id;
}

static uint32_t add_frame(struct maker *k, struct frame f)
{
	uint64_t hash = hash_pair(hash_pair((uint64_t)f.name << 32 | f.file,
					    (uint64_t)f.module << 32 | f.flags), (uint64_t)f.line);
	size_t at = 0;
	uint32_t i;
	while ((i = dedup_next(&k->by_frame, hash, &at)) != DEDUP_NONE) {
		const struct frame *g = &k->frames.v[i];
		if (g->name == f.name && g->file == f.file && g->module == f.module &&
		    g->flags == f.flags && g->line == f.line)
			return i;
	}
	i = (uint32_t)k->frames.n;
	if (!VEC_PUSH(&k->frames, f) || !dedup_add(&k->by_frame, hash, i))
		k->failed = true;
	return i;
}

static uint32_t add_label(struct maker *k, struct label l)
{
	uint64_t hash = hash_u64((uint64_t)l.key << 32 | l.value);
	size_t at = 0;
	uint32_t i;
	while ((i = dedup_next(&k->by_label, hash, &at)) != DEDUP_NONE)
		if (k->labels.v[i].key == l.key && k->labels.v[i].value == l.value)
			return i;
	i = (uint32_t)k->labels.n;
	if (!VEC_PUSH(&k->labels, l) || !dedup_add(&k->by_label, hash, i))
		k->failed = true;
	return i;
}

/* The set of the items that were appended from first on. */
static uint32_t add_set(struct maker *k, size_t first)
{
	size_t n = k->items.n - first, n_bytes = n * sizeof(uint32_t), at = 0;
	const uint32_t *new = n > 0 ? k->items.v + first : NULL;
	uint64_t hash = n > 0 ? hash_bytes(new, n_bytes) : 0;
	uint32_t i;
	while ((i = dedup_next(&k->by_set, hash, &at)) != DEDUP_NONE) {
		const struct set *s = &k->sets.v[i];
		if (s->n != n || (n > 0 && memcmp(k->items.v + s->first, new, n_bytes) != 0))
			continue;
		k->items.n = first;
		return i;
	}
	i = (uint32_t)k->sets.n;
	if (!VEC_PUSH(&k->sets, ((struct set){ (uint32_t)first, (uint32_t)n })) ||
	    !dedup_add(&k->by_set, hash, i))
		k->failed = true;
	return i;
}

/* ---- one profile ---------------------------------------------------------- */

static bool is_kernel(const struct model *m, const struct model_location *l)
{
	if (l->address >> 63)
		return true;
	if (l->mapping == MODEL_NONE)
		return false;
	const char *file = model_string(m, m->mapping[l->mapping].filename);
	const char *ko = strstr(file, ".ko");
	return strncmp(file, "[kernel", 7) == 0 ||
	       (ko && (ko[3] == '\0' || (ko[3] == '.' && !strchr(ko, '/'))));
}

static void frames_of_location(struct maker *k, struct side *s, uint32_t l)
{
	const struct model *m = s->part->m;
	const struct filter *f = s->part->f;
	const struct model_location *loc = &m->location[l];
	size_t row = s->rows->first[l];
	if (f && f->location_out[l])
		return;
	struct frame base = { .flags = is_kernel(m, loc) ? HTML_FRAME_KERNEL : 0 };
	if (loc->mapping != MODEL_NONE)
		base.module = string(k, model_string(m, m->mapping[loc->mapping].filename));
	for (uint32_t i = 0; i == 0 || i < loc->n_lines; i++) {
		struct frame x = base;
		if (loc->n_lines > 0) {
			const struct model_line *line = &m->line[loc->first_line + i];
			if (f && f->line_out[loc->first_line + i])
				continue;
			x.line = line->line;
			if (line->function != MODEL_NONE) {
				const struct model_function *fn = &m->function[line->function];
				x.file = string(k, model_string(m, fn->filename));
				x.flags |= fn->name ? HTML_FRAME_NAMED : 0;
			}
			x.flags |= i + 1 < loc->n_lines ? HTML_FRAME_INLINED : 0;
		}
		x.name = string(k, s->rows->row[s->rows->of[row++]].name);
		if (!VEC_PUSH(&s->frame, add_frame(k, x)))
			k->failed = true;
	}
}

static void labels_of(struct maker *k, struct side *s, uint32_t set)
{
	const struct model *m = s->part->m;
	size_t first = k->items.n;
	for (uint32_t i = 0; i < m->labels[set].n; i++) {
		const struct model_label *l = &m->label[m->labels[set].first + i];
		struct label x = { .key = string(k, model_string(m, l->key)) };
		if (l->str) {
			x.value = string(k, model_string(m, l->str));
		} else {
			char *text = NULL;
			if (asprintf(&text, "%" PRId64 "%s", l->num,
				     model_string(m, l->num_unit)) < 0) {
				k->failed = true;
				return;
			}
			x.value = string(k, text);
			free(text);
		}
		if (!VEC_PUSH(&k->items, add_label(k, x)))
			k->failed = true;
	}
	s->labels[set] = add_set(k, first);
}

static uint32_t child_of(struct maker *k, struct forest *t, uint32_t parent, uint32_t frame)
{
	uint64_t hash = hash_u64((uint64_t)parent << 32 | frame);
	size_t at = 0;
	uint32_t i;
	while ((i = dedup_next(&t->by_parent, hash, &at)) != DEDUP_NONE)
		if (t->nodes.v[i].parent == parent && t->nodes.v[i].frame == frame)
			return i;
	i = (uint32_t)t->nodes.n;
	if (!VEC_PUSH(&t->nodes, ((struct node){ .parent = parent, .frame = frame })) ||
	    !dedup_add(&t->by_parent, hash, i)) {
		k->failed = true;
		return 0;
	}
	struct node *p = &t->nodes.v[parent];
	if (p->last_child)
		t->nodes.v[p->last_child].next_sibling = i;
	else
		p->first_child = i;
	p->last_child = i;
	return i;
}

static void add_samples(struct maker *k, struct side *s, struct forest *t)
{
	const struct model *m = s->part->m;
	const struct filter *f = s->part->f;
	for (uint32_t i = 0; i < m->n_samples && !k->failed; i++) {
		const struct model_stack *stack = &m->stack[m->sample[i].stack];
		uint32_t skip = f ? f->stack_skip[m->sample[i].stack] : 0, at = 0;
		if (f && f->sample_out[i])
			continue;
		for (uint32_t d = stack->n; d-- > skip && !k->failed;) {
			uint32_t l = m->stack_location[stack->first + d];
			for (size_t x = s->first[l + 1]; x-- > s->first[l];)
				at = child_of(k, t, at, s->frame.v[x]);
		}
		/* As in the tables, what has no frame counts for the total alone. */
		if (at && !VEC_PUSH(&s->samples, ((struct sample){
					at, s->labels[m->sample[i].labels], i })))
			k->failed = true;
	}
}

/* Marks the locations and label sets of the samples that are left. */
static void find_used(const struct side *s, unsigned char *location, unsigned char *labels)
{
	const struct model *m = s->part->m;
	const struct filter *f = s->part->f;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		const struct model_stack *stack = &m->stack[m->sample[i].stack];
		if (f && f->sample_out[i])
			continue;
		labels[m->sample[i].labels] = 1;
		for (uint32_t d = f ? f->stack_skip[m->sample[i].stack] : 0; d < stack->n; d++)
			location[m->stack_location[stack->first + d]] = 1;
	}
}

static int open_side(struct maker *k, struct side *s, const struct html_part *part,
		     const struct model *fresh, struct forest *t, struct err *e)
{
	const struct model *m = part->m;
	s->part = part;
	int r = rows_new(m, part->f, ROWS_FUNCTION, NULL, &s->rows, e);
	if (r < 0)
		return r;
	s->first = calloc((size_t)m->n_locations + 1, sizeof(*s->first));
	s->labels = calloc((size_t)m->n_label_sets + 1, sizeof(*s->labels));
	s->type = calloc(fresh->n_types, sizeof(*s->type));
	s->ratio = calloc(fresh->n_types, sizeof(*s->ratio));
	CLEANUP_FREE unsigned char *location = calloc((size_t)m->n_locations + 1, 1);
	CLEANUP_FREE unsigned char *labels = calloc((size_t)m->n_label_sets + 1, 1);
	if (!s->first || !s->labels || !s->type || !s->ratio || !location || !labels) {
		k->failed = true;
		return 0;
	}
	find_used(s, location, labels);
	html_comparable(m, fresh, s->type);
	for (uint32_t i = 0; i < fresh->n_types; i++) {
		double ratio = scale_ratio(model_string(m, m->type[s->type[i]].unit),
					   model_string(fresh, fresh->type[i].unit));
		s->ratio[i] = m == fresh || ratio <= 0 ? 1 : ratio;
	}
	for (uint32_t l = 0; l < m->n_locations && !k->failed; l++) {
		s->first[l] = s->frame.n;
		if (location[l])
			frames_of_location(k, s, l);
	}
	s->first[m->n_locations] = s->frame.n;
	for (uint32_t i = 0; i < m->n_label_sets && !k->failed; i++)
		if (labels[i])
			labels_of(k, s, i);
	add_samples(k, s, t);
	return 0;
}

static void close_side(struct side *s)
{
	rows_free(s->rows);
	VEC_FREE(&s->frame);
	VEC_FREE(&s->samples);
	free(s->first);
	free(s->labels);
	free(s->type);
	free(s->ratio);
}

/* ---- a set ---------------------------------------------------------------- */

static int64_t scaled(const struct side *s, uint32_t type, int64_t value)
{
	if (s->ratio[type] == 1)
		return value;
	double v = (double)value * s->ratio[type];
	return v >= 0x1p63 ? INT64_MAX : v <= -0x1p63 ? INT64_MIN : (int64_t)v;
}

static void put_side(struct maker *k, const struct side *s, uint32_t n_types)
{
	const struct model *m = s->part->m;
	uint32_t count_type = model_count_type(m);
	put_u(k, string(k, s->part->name ? s->part->name : ""));
	put_s(k, m->duration_ns);
	put_s(k, m->time_ns);
	put_s(k, m->period);
	put_u(k, string(k, model_string(m, m->period_type.type)));
	put_u(k, string(k, model_string(m, m->period_type.unit)));
	for (uint32_t t = 0; t < n_types; t++) {
		int64_t total = 0;
		double var = 0;
		for (uint32_t i = 0; i < m->n_samples; i++) {
			int64_t v = scaled(s, t, model_value(m, i, s->type[t]));
			int64_t n = count_type == MODEL_NONE
					    ? 0 : model_magnitude(model_value(m, i, count_type));
			total = model_add(total, model_magnitude(v));
			var += n > 0 ? (double)v * (double)v / (double)n : 0;
		}
		put_s(k, total);
		put_f64(k, var);
	}
}

/* Numbers the nodes, and writes each. */
static void put_nodes(struct maker *k, struct forest *t)
{
	struct node *v = t->nodes.v;
	uint32_t at = v[0].first_child, number = 0, up = 0;
	put_u(k, t->nodes.n - 1);
	while (at != 0 && !k->failed) {
		v[at].number = ++number;
		put_u(k, up);
		put_u(k, v[at].frame);
		up = 0;
		if (v[at].first_child) {
			at = v[at].first_child;
			continue;
		}
		up = 1;
		while (at != 0 && !v[at].next_sibling) {
			at = v[at].parent;
			up++;
		}
		at = v[at].next_sibling;
	}
}

static int by_place(const void *va, const void *vb)
{
	const struct sample *a = va, *b = vb;
	if (a->node != b->node)
		return (a->node > b->node) - (a->node < b->node);
	if (a->labels != b->labels)
		return (a->labels > b->labels) - (a->labels < b->labels);
	return (a->index > b->index) - (a->index < b->index);
}

static void put_samples(struct maker *k, struct side *s, const struct forest *t, uint32_t n_types)
{
	for (size_t i = 0; i < s->samples.n; i++)
		s->samples.v[i].node = t->nodes.v[s->samples.v[i].node].number;
	if (s->samples.n > 1)
		qsort(s->samples.v, s->samples.n, sizeof(*s->samples.v), by_place);
	put_u(k, s->samples.n);
	uint32_t before = 0;
	for (size_t i = 0; i < s->samples.n && !k->failed; i++) {
		const struct sample *x = &s->samples.v[i];
		put_u(k, x->node - before);
		put_u(k, x->labels);
		for (uint32_t j = 0; j < n_types; j++)
			put_s(k, scaled(s, j, model_value(s->part->m, x->index, s->type[j])));
		before = x->node;
	}
}

static int put_set(struct maker *k, const struct html_set *set, struct err *e)
{
	const struct model *m = set->fresh.m;
	struct side side[2] = { 0 };
	struct forest t = { 0 };
	int n_sides = set->base.m ? 2 : 1;
	k->failed = k->failed || !VEC_PUSH(&t.nodes, ((struct node){ 0 }));
	int r = k->failed ? 0 : open_side(k, &side[0], &set->fresh, m, &t, e);
	if (r == 0 && n_sides == 2 && !k->failed)
		r = open_side(k, &side[1], &set->base, m, &t, e);
	if (r == 0 && !k->failed) {
		put_u(k, m->n_types);
		for (uint32_t i = 0; i < m->n_types; i++) {
			put_u(k, string(k, model_string(m, m->type[i].type)));
			put_u(k, string(k, model_string(m, m->type[i].unit)));
		}
		put_u(k, set->type);
		put_u(k, (uint32_t)(model_count_type(m) + 1));
		put_u(k, (uint64_t)n_sides);
		for (int i = 0; i < n_sides; i++)
			put_side(k, &side[i], m->n_types);
		put_nodes(k, &t);
		for (int i = 0; i < n_sides; i++)
			put_samples(k, &side[i], &t, m->n_types);
	}
	close_side(&side[0]);
	close_side(&side[1]);
	VEC_FREE(&t.nodes);
	dedup_done(&t.by_parent);
	return r;
}

/* ---- all ------------------------------------------------------------------ */

static void put_string(struct maker *k, const char *s)
{
	size_t n = strlen(s);
	if (!VEC_RESERVE(&k->clean, UTF8_CLEAN_MAX(n) + 1)) {
		k->failed = true;
		return;
	}
	n = utf8_clean(k->clean.v, s, n);
	put_u(k, n);
	put_bytes(k, k->clean.v, n);
}

static void put_shared(struct maker *k, const struct html_source *source)
{
	put_u(k, VERSION);
	put_u(k, (uint64_t)k->spec->by);
	put_u(k, (uint64_t)k->spec->norm);
	/* The strings of the sources come last, so all are known here. */
	put_u(k, k->strings.n);
	for (uint32_t i = 0; i < k->strings.n && !k->failed; i++)
		put_string(k, strtab_get(&k->strings, i));
	put_u(k, k->frames.n);
	for (size_t i = 0; i < k->frames.n; i++) {
		const struct frame *f = &k->frames.v[i];
		put_u(k, f->name);
		put_u(k, f->file);
		put_u(k, f->module);
		put_s(k, f->line);
		put_u(k, f->flags);
	}
	put_u(k, k->labels.n);
	for (size_t i = 0; i < k->labels.n; i++) {
		put_u(k, k->labels.v[i].key);
		put_u(k, k->labels.v[i].value);
	}
	put_u(k, k->sets.n);
	for (size_t i = 0; i < k->sets.n; i++) {
		put_u(k, k->sets.v[i].n);
		for (uint32_t j = 0; j < k->sets.v[i].n; j++)
			put_u(k, k->items.v[k->sets.v[i].first + j]);
	}
	put_u(k, source->files.n);
	for (size_t i = 0; i < source->files.n; i++) {
		const struct html_source_file *f = &source->files.v[i];
		uint64_t before = 0;
		put_u(k, f->file);
		put_u(k, f->n);
		for (size_t j = f->first; j < f->first + f->n; j++) {
			put_u(k, source->lines.v[j].number - before);
			put_u(k, source->lines.v[j].text);
			before = source->lines.v[j].number;
		}
	}
}

static void find_source(struct maker *k, struct html_source *source)
{
	for (size_t i = 0; i < k->frames.n && !k->failed; i++) {
		const struct frame *f = &k->frames.v[i];
		if (f->file && f->line > 0 && !html_source_want(source, f->file, (uint64_t)f->line))
			k->failed = true;
	}
	if (!k->failed && !html_source_read(source, &k->strings, k->spec->open_source,
					    k->spec->open_ctx))
		k->failed = true;
}

static int make(struct maker *k, struct err *e)
{
	/* The sets are written first, since that finds what is shared, and put behind it. */
	struct html_data *whole = k->out, sets = { 0 };
	struct html_source source = { 0 };
	k->out = &sets;
	int r = 0;
	add_set(k, 0);   /* set 0: no labels */
	put_u(k, k->spec->n_sets);
	for (size_t i = 0; i < k->spec->n_sets && r == 0 && !k->failed; i++)
		r = put_set(k, &k->spec->set[i], e);
	k->out = whole;
	if (r == 0 && !k->failed && k->spec->open_source)
		find_source(k, &source);
	if (r == 0 && !k->failed) {
		put_shared(k, &source);
		put_bytes(k, sets.bytes.v, sets.bytes.n);
	}
	html_source_done(&source);
	html_data_done(&sets);
	return r;
}

int html_data_make(const struct html_spec *spec, struct html_data *ret, struct err *e)
{
	struct maker k = { .spec = spec, .out = ret };
	int r = 0;
	*ret = (struct html_data){ 0 };
	if (strtab_init(&k.strings, NULL) < 0)
		k.failed = true;
	else
		r = make(&k, e);
	strtab_done(&k.strings);
	VEC_FREE(&k.frames);
	VEC_FREE(&k.labels);
	VEC_FREE(&k.sets);
	VEC_FREE(&k.items);
	VEC_FREE(&k.clean);
	dedup_done(&k.by_frame);
	dedup_done(&k.by_label);
	dedup_done(&k.by_set);
	return r == 0 && k.failed ? err_errno(e, ENOMEM, "cannot write the page") : r;
}

void html_data_done(struct html_data *d)
{
	VEC_FREE(&d->bytes);
}
