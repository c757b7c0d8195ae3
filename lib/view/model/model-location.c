/* Mappings, functions and locations, each compared by the rules of model.h. */

#include "view/model/model-build.h"

#include "base/hash.h"

#define PAGE 4096u

static uint64_t pages(const struct model_mapping *m)
{
	return (m->memory_limit - m->memory_start + PAGE - 1) / PAGE;
}

static uint32_t identity(const struct model_mapping *m)
{
	return m->build_id ? m->build_id : m->filename;
}

int model_location_mapping(struct model_builder *b, struct model_file *f,
			   const struct profile_mapping *from, uint32_t *ret)
{
	size_t i = (size_t)(from - f->head->mapping), at = 0;
	if (f->mapping[i] != MODEL_NONE) {
		*ret = f->mapping[i];
		return 0;
	}
	struct model_mapping want = {
		from->memory_start, from->memory_limit, from->file_offset,
		model_intern(b, from->filename), model_intern(b, from->build_id),
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
	int r = MODEL_MAKE_ROOM(b, &b->mappings);
	if (r < 0)
		return r;
	k = (uint32_t)b->mappings.n;
	if (!dedup_add(&b->by_mapping, hash, k))
		return model_no_memory(b);
	b->mappings.v[b->mappings.n++] = want;
	*ret = f->mapping[i] = k;
	return 0;
}

static int add_function(struct model_builder *b, struct model_file *f,
			const struct profile_function *from, uint32_t *ret)
{
	size_t i = (size_t)(from - f->head->function), at = 0;
	if (f->function[i] != MODEL_NONE) {
		*ret = f->function[i];
		return 0;
	}
	struct model_function want = {
		from->start_line, model_intern(b, from->name), model_intern(b, from->system_name),
		model_intern(b, from->filename),
	};
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
	int r = MODEL_MAKE_ROOM(b, &b->functions);
	if (r < 0)
		return r;
	k = (uint32_t)b->functions.n;
	if (!dedup_add(&b->by_function, hash, k))
		return model_no_memory(b);
	b->functions.v[b->functions.n++] = want;
	*ret = f->function[i] = k;
	return 0;
}

/* Appends the lines of a location, which stay only if the location is a new one. */
static int append_lines(struct model_builder *b, struct model_file *f,
			const struct profile_location *from)
{
	for (size_t i = 0; i < from->n_lines; i++) {
		const struct profile_line *l = &from->line[i];
		struct model_line line = { l->line, l->column, MODEL_NONE };
		int r = l->function ? add_function(b, f, l->function, &line.function) : 0;
		if (r == 0)
			r = MODEL_MAKE_ROOM(b, &b->lines);
		if (r < 0)
			return r;
		b->lines.v[b->lines.n++] = line;
	}
	return 0;
}

/* By the address in the mapping, which does not depend on where the system loaded it. */
static uint64_t address_in_mapping(const struct model_builder *b, const struct model_location *l)
{
	return l->mapping == MODEL_NONE ? l->address
					: l->address - b->mappings.v[l->mapping].memory_start;
}

static bool same_location(const struct model_builder *b, const struct model_location *x,
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

int model_location_add(struct model_builder *b, struct model_file *f, uint32_t index)
{
	const struct profile_location *from = &f->head->location[index];
	struct model_location want = { .address = from->address, .mapping = MODEL_NONE,
				       .is_folded = from->is_folded };
	if (from->mapping) {
		int r = model_location_mapping(b, f, from->mapping, &want.mapping);
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
	r = MODEL_MAKE_ROOM(b, &b->locations);
	if (r < 0)
		return r;
	k = (uint32_t)b->locations.n;
	if (!dedup_add(&b->by_location, hash, k))
		return model_no_memory(b);
	b->locations.v[b->locations.n++] = want;
	f->location[index] = k;
	return 0;
}
