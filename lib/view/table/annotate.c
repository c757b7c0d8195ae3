/*
 * Functions with the same name, file and binary are one.  Each pair (function, line or address) has
 * a number, like a row of a table, and a stamp that says whether the current sample has already
 * been counted there.
 */

#include "view/table/annotate.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/search.h"
#include "base/vec.h"
#include "view/model/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct counted { struct annotate_spot spot; uint32_t function, seen; };

struct counting {
	const struct model *m;
	const struct filter *f;
	bool by_address;
	unsigned char *matches;                  /* by function of the model */
	VEC(struct annotate_function) functions;
	VEC(uint32_t) seen;                      /* by index in functions */
	VEC(struct counted) spots;
	struct hashindex by_function, by_spot;
	uint32_t *spot_of_line;                  /* by line of the model, or MODEL_NONE */
};

void annotate_free(struct annotate *a)
{
	if (!a)
		return;
	free(a->function);
	free(a->spot);
	free(a);
}

static uint32_t function_for(struct counting *c, const struct model_function *fn, uint32_t mapping)
{
	const char *name = model_string(c->m, fn->name), *file = model_string(c->m, fn->filename);
	uint64_t hash = hash_pair((uint64_t)fn->name << 32 | fn->filename, mapping);
	uint32_t i = HASHINDEX_FIND(&c->by_function, hash, k, c->functions.v[k].name == name &&
				    c->functions.v[k].filename == file &&
				    c->functions.v[k].mapping == mapping);
	if (i != HASHINDEX_NONE)
		return i;
	i = (uint32_t)c->functions.n;
	if (!VEC_RESERVE(&c->functions, 1) || !VEC_PUSH(&c->seen, 0) ||
	    !hashindex_add(&c->by_function, hash, i))
		return MODEL_NONE;
	c->functions.v[c->functions.n++] = (struct annotate_function){
		.name = name, .system_name = model_string(c->m, fn->system_name), .filename = file,
		.mapping = mapping, .start_line = fn->start_line,
	};
	return i;
}

static int spot_for(struct counting *c, const struct model_location *l, uint32_t line_index)
{
	const struct model_line *line = &c->m->line[line_index];
	uint32_t function = function_for(c, &c->m->function[line->function], l->mapping);
	if (function == MODEL_NONE)
		return -ENOMEM;
	uint64_t where = c->by_address ? l->address : (uint64_t)line->line;
	uint64_t hash = hash_pair(where, function);
	uint32_t i = HASHINDEX_FIND(&c->by_spot, hash, k, c->spots.v[k].function == function &&
				    c->spots.v[k].spot.at == where);
	if (i == HASHINDEX_NONE) {
		i = (uint32_t)c->spots.n;
		if (!VEC_RESERVE(&c->spots, 1) || !hashindex_add(&c->by_spot, hash, i))
			return -ENOMEM;
		c->spots.v[c->spots.n++] = (struct counted){
			.spot = { .at = where, .line = line->line }, .function = function };
	}
	c->spot_of_line[line_index] = i;
	return 0;
}

static int find_spots(struct counting *c)
{
	const struct model *m = c->m;
	c->spot_of_line = malloc(((size_t)m->n_lines + 1) * sizeof(*c->spot_of_line));
	if (!c->spot_of_line)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_lines; i++)
		c->spot_of_line[i] = MODEL_NONE;
	for (uint32_t i = 0; i < m->n_locations; i++) {
		const struct model_location *l = &m->location[i];
		if (c->f && c->f->location_out[i])
			continue;
		for (uint32_t k = l->first_line; k < l->first_line + l->n_lines; k++) {
			uint32_t fn = m->line[k].function;
			if (fn == MODEL_NONE || !c->matches[fn] || (c->f && c->f->line_out[k]))
				continue;
			int r = spot_for(c, l, k);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static void add_frame(struct counting *c, uint32_t spot, uint32_t stamp, int64_t value,
		      bool is_leaf)
{
	struct counted *s = &c->spots.v[spot];
	struct annotate_function *fn = &c->functions.v[s->function];
	if (is_leaf) {
		s->spot.flat = model_add(s->spot.flat, value);
		fn->flat = model_add(fn->flat, value);
	}
	if (s->seen != stamp)
		s->spot.cum = model_add(s->spot.cum, value);
	if (c->seen.v[s->function] != stamp)
		fn->cum = model_add(fn->cum, value);
	s->seen = c->seen.v[s->function] = stamp;
}

static int64_t add_samples(struct counting *c, uint32_t type)
{
	const struct model *m = c->m;
	int64_t total = 0;
	for (uint32_t i = 0; i < m->n_samples; i++) {
		int64_t value = model_value(m, i, type);
		const struct model_stack *s = &m->stack[m->sample[i].stack];
		bool is_leaf = true;
		if (!c->f || !c->f->sample_idle || !c->f->sample_idle[i])
			total = model_add(total, model_magnitude(value));
		if (value == 0 || (c->f && c->f->sample_out[i]))
			continue;
		for (uint32_t k = c->f ? c->f->stack_skip[m->sample[i].stack] : 0; k < s->n; k++) {
			uint32_t loc = m->stack_location[s->first + k];
			const struct model_location *l = &m->location[loc];
			if (c->f && c->f->location_out[loc])
				continue;
			for (uint32_t j = l->first_line; j < l->first_line + l->n_lines; j++) {
				if (c->f && c->f->line_out[j])
					continue;
				if (c->spot_of_line[j] != MODEL_NONE)
					add_frame(c, c->spot_of_line[j], i + 1, value, is_leaf);
				is_leaf = false;
			}
			is_leaf = false;
		}
	}
	return total;
}

static int by_place(const void *va, const void *vb)
{
	const struct counted *a = va, *b = vb;
	if (a->function != b->function)
		return (a->function > b->function) - (a->function < b->function);
	return (a->spot.at > b->spot.at) - (a->spot.at < b->spot.at);
}

static int by_cum(const void *va, const void *vb)
{
	const struct annotate_function *a = va, *b = vb;
	int64_t ca = model_magnitude(a->cum), cb = model_magnitude(b->cum);
	int order = strcmp(a->name, b->name);
	return ca != cb ? (ca < cb) - (ca > cb) : order ? order : strcmp(a->filename, b->filename);
}

static int move_results(struct counting *c, struct annotate *a)
{
	a->spot = calloc(c->spots.n + 1, sizeof(*a->spot));
	if (!a->spot)
		return -ENOMEM;
	if (c->spots.n > 1)
		qsort(c->spots.v, c->spots.n, sizeof(*c->spots.v), by_place);
	for (size_t i = 0; i < c->spots.n; i++) {
		const struct counted *s = &c->spots.v[i];
		struct annotate_function *fn = &c->functions.v[s->function];
		if (s->spot.flat == 0 && s->spot.cum == 0)
			continue;
		if (fn->n++ == 0)
			fn->first = a->n_spots;
		a->spot[a->n_spots++] = s->spot;
	}
	for (size_t i = 0; i < c->functions.n; i++)
		if (c->functions.v[i].n > 0)
			c->functions.v[a->n_functions++] = c->functions.v[i];
	a->function = c->functions.v;
	c->functions.v = NULL;
	if (a->n_functions > 1)
		qsort(a->function, a->n_functions, sizeof(*a->function), by_cum);
	return 0;
}

static int match_functions(struct counting *c, const char *regex, struct err *e)
{
	struct pattern p = { 0 };
	int r = pattern_compile(&p, "--list", regex, e);
	if (r < 0)
		return r;
	c->matches = calloc((size_t)c->m->n_functions + 1, 1);
	for (uint32_t i = 0; c->matches && i < c->m->n_functions; i++) {
		const char *name = model_string(c->m, c->m->function[i].name);
		c->matches[i] = name[0] && pattern_matches(&p, name);
	}
	pattern_done(&p);
	return c->matches ? 0 : err_errno(e, ENOMEM, "cannot add up the profile");
}

static void counting_done(struct counting *c)
{
	free(c->matches);
	free(c->spot_of_line);
	VEC_FREE(&c->functions);
	VEC_FREE(&c->seen);
	VEC_FREE(&c->spots);
	hashindex_done(&c->by_function);
	hashindex_done(&c->by_spot);
}

int annotate_new(const struct model *m, const struct filter *f, uint32_t type, const char *regex,
		 bool by_address, struct annotate **ret, struct err *e)
{
	CLEANUP(counting_done) struct counting c = { .m = m, .f = f, .by_address = by_address };
	int r = match_functions(&c, regex, e);
	if (r < 0)
		return r;
	CLEANUP(annotate_freep) struct annotate *a = calloc(1, sizeof(*a));
	if (!a || find_spots(&c) < 0)
		return err_errno(e, ENOMEM, "cannot add up the profile");
	a->total = add_samples(&c, type);
	if (move_results(&c, a) < 0)
		return err_errno(e, ENOMEM, "cannot add up the profile");
	if (a->n_functions == 0)
		return err_set(e, ENOENT, "no function with a value matches '%s'", regex);
	*ret = TAKE_PTR(a);
	return 0;
}

size_t annotate_sum(const struct annotate *a, const struct annotate_function *fn, uint64_t start,
		    uint64_t end, int64_t *ret_flat, int64_t *ret_cum)
{
	const struct annotate_spot *spot = a->spot + fn->first;
	size_t first = SEARCH_COUNT(fn->n, i, spot[i].at < start), n = 0;
	*ret_flat = *ret_cum = 0;
	for (; first + n < fn->n && spot[first + n].at < end; n++) {
		*ret_flat = model_add(*ret_flat, spot[first + n].flat);
		*ret_cum = model_add(*ret_cum, spot[first + n].cum);
	}
	return n;
}
