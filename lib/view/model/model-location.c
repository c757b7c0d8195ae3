/*
 * Mappings, functions and locations, each compared by the rules of model.h.
 *
 * The model of many files is larger than the processor's caches.  So the parts of a file are looked
 * up together, in passes: each starts to load what the next one reads.
 */

#include "view/model/model-build.h"

#include "base/hash.h"

#define PAGE 4096u
#define AT_ONCE STRTAB_PREFETCH_MAX
/* A model of fewer locations is in the caches. */
#define LARGE 4096u

static uint64_t n_pages(const struct model_mapping *m)
{
	return (m->memory_limit - m->memory_start + PAGE - 1) / PAGE;
}

static uint32_t identity(const struct model_mapping *m)
{
	return m->build_id ? m->build_id : m->filename;
}

static bool same_mapping(const struct model_mapping *x, const struct model_mapping *y)
{
	return n_pages(x) == n_pages(y) && x->file_offset == y->file_offset &&
	       identity(x) == identity(y);
}

int model_location_mapping(struct model_builder *b, struct model_file *f,
			   const struct profile_mapping *from, uint32_t *ret)
{
	size_t i = (size_t)(from - f->head->mapping);
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
	uint64_t hash = hash_pair(n_pages(&want), hash_pair(want.file_offset, identity(&want)));
	uint32_t k = HASHINDEX_FIND(&b->by_mapping, hash, j,
				    same_mapping(&b->mappings.v[j], &want));
	if (k == HASHINDEX_NONE) {
		k = (uint32_t)b->mappings.n;
		int r = MODEL_ADD(b, &b->mappings, &b->by_mapping, hash, want);
		if (r < 0)
			return r;
	}
	*ret = f->mapping[i] = k;
	return 0;
}

static bool same_function(const struct model_function *x, const struct model_function *y)
{
	return x->name == y->name && x->filename == y->filename &&
	       x->system_name == y->system_name && x->start_line == y->start_line;
}

static struct model_function want_function(struct model_builder *b, struct model_file *f,
					   const struct pprof_function_row *from,
					   uint64_t *ret_hash)
{
	struct model_function want = {
		from->start_line, model_intern_of(b, f, from->name),
		model_intern_of(b, f, from->system_name), model_intern_of(b, f, from->filename),
	};
	*ret_hash = hash_pair((uint64_t)want.name << 32 | want.filename,
			      hash_pair(want.system_name, (uint64_t)want.start_line));
	return want;
}

static int put_function(struct model_builder *b, const struct model_function *want, uint64_t hash,
			uint32_t *ret)
{
	uint32_t k = HASHINDEX_FIND(&b->by_function, hash, j,
				    same_function(&b->functions.v[j], want));
	if (k == HASHINDEX_NONE) {
		k = (uint32_t)b->functions.n;
		int r = MODEL_ADD(b, &b->functions, &b->by_function, hash, *want);
		if (r < 0)
			return r;
	}
	*ret = k;
	return 0;
}

static int add_function(struct model_builder *b, struct model_file *f,
			uint32_t i, uint32_t *ret)
{
	if (f->function[i] == MODEL_NONE) {
		uint64_t hash;
		struct model_function want = want_function(b, f, &f->tables->function[i], &hash);
		int r = put_function(b, &want, hash, &f->function[i]);
		if (r < 0)
			return r;
	}
	*ret = f->function[i];
	return 0;
}

/* The functions of a file from number `first` on. */
static int add_functions(struct model_builder *b, struct model_file *f, size_t first, size_t n)
{
	const struct pprof_function_row *from = f->tables->function + first;
	const struct strtab_text *name[AT_ONCE];
	struct model_function want[AT_ONCE];
	uint64_t hash[AT_ONCE];
	for (size_t i = 0; i < n; i++)
		name[i] = &f->tables->text[from[i].name];
	strtab_prefetch(&b->m->strings, name, n);
	for (size_t i = 0; i < n; i++) {
		want[i] = want_function(b, f, &from[i], &hash[i]);
		hashindex_prefetch(&b->by_function, hash[i]);
	}
	for (size_t i = 0; i < n; i++) {
		uint32_t guess = HASHINDEX_FIND(&b->by_function, hash[i], k, true);
		if (guess != HASHINDEX_NONE)
			__builtin_prefetch(&b->functions.v[guess]);
	}
	int r = 0;
	for (size_t i = 0; i < n && r == 0; i++)
		r = put_function(b, &want[i], hash[i], &f->function[first + i]);
	return r;
}

/* Appends the lines of a location; the caller removes them if the location is not new. */
static int append_lines(struct model_builder *b, struct model_file *f,
			const struct pprof_location_row *from)
{
	for (size_t i = 0; i < from->n_lines; i++) {
		const struct pprof_line_row *l = &f->tables->lines.v[from->first_line + i];
		struct model_line line = { l->line, l->column, MODEL_NONE };
		int r = l->function != PPROF_NO_INDEX
				? add_function(b, f, l->function, &line.function) : 0;
		if (r < 0)
			return r;
		r = MODEL_MAKE_ROOM(b, &b->lines);
		if (r < 0)
			return r;
		b->lines.v[b->lines.n++] = line;
	}
	return 0;
}

/* The offset in the mapping, which does not depend on the load address. */
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

/* Describes a location, and appends its lines to the model's. */
static int want_location(struct model_builder *b, struct model_file *f,
			 const struct pprof_location_row *from, struct model_location *want,
			 uint64_t *ret_hash)
{
	*want = (struct model_location){ .address = from->address, .mapping = MODEL_NONE,
					 .is_folded = from->is_folded };
	if (from->mapping != PPROF_NO_INDEX) {
		const struct profile_mapping *mapping = &f->head->mapping[from->mapping];
		int r = model_location_mapping(b, f, mapping, &want->mapping);
		if (r < 0)
			return r;
		want->address += b->mappings.v[want->mapping].memory_start -
				 mapping->memory_start;
	}
	size_t n_before = b->lines.n;
	int r = append_lines(b, f, from);
	if (r < 0)
		return r;
	want->first_line = (uint32_t)n_before;
	want->n_lines = (uint32_t)(b->lines.n - n_before);
	uint64_t hash = hash_pair(address_in_mapping(b, want), want->mapping);
	for (uint32_t i = 0; i < want->n_lines; i++) {
		const struct model_line *l = &b->lines.v[n_before + i];
		hash = hash_pair(hash, (uint64_t)l->function << 32 ^ (uint64_t)l->line);
	}
	*ret_hash = hash;
	return 0;
}

static uint32_t find_location(const struct model_builder *b, const struct model_location *want,
			      uint64_t hash)
{
	return HASHINDEX_FIND(&b->by_location, hash, i,
			      same_location(b, &b->locations.v[i], want));
}

int model_location_add(struct model_builder *b, struct model_file *f, uint32_t index)
{
	struct model_location want;
	uint64_t hash;
	size_t n_before = b->lines.n;
	int r = want_location(b, f, &f->tables->location[index], &want, &hash);
	if (r < 0)
		return r;
	uint32_t k = find_location(b, &want, hash);
	if (k != HASHINDEX_NONE) {
		b->lines.n = n_before;
	} else {
		k = (uint32_t)b->locations.n;
		r = MODEL_ADD(b, &b->locations, &b->by_location, hash, want);
		if (r < 0)
			return r;
	}
	f->location[index] = k;
	return 0;
}

static void find_wanted(struct model_builder *b, struct model_file *f)
{
	struct model_wanted *w = b->wanted.v;
	size_t n = b->wanted.n;
	for (size_t i = 0; i < n; i++) {
		w[i].guess = HASHINDEX_FIND(&b->by_location, w[i].hash, k, true);
		if (w[i].guess != HASHINDEX_NONE)
			__builtin_prefetch(&b->locations.v[w[i].guess]);
	}
	for (size_t i = 0; i < n; i++)
		if (w[i].guess != HASHINDEX_NONE)
			__builtin_prefetch(b->lines.v + b->locations.v[w[i].guess].first_line);
	/* HASHINDEX_NONE is MODEL_NONE: those are added when a sample has them */
	for (size_t i = 0; i < n; i++)
		f->location[i] = find_location(b, &w[i].location, w[i].hash);
}

int model_location_find_all(struct model_builder *b, struct model_file *f)
{
	size_t n = f->head->n_locations, n_functions = f->head->n_functions;
	size_t n_before = b->lines.n;
	int r = 0;
	if (b->locations.n < LARGE)
		return 0;
	for (size_t i = 0; i < n_functions && r == 0; i += AT_ONCE)
		r = add_functions(b, f, i, n_functions - i < AT_ONCE ? n_functions - i : AT_ONCE);
	b->wanted.n = 0;
	if (r == 0 && !VEC_RESERVE(&b->wanted, n))
		r = model_no_memory(b);
	for (size_t i = 0; i < n && r == 0; i++) {
		struct model_wanted *w = &b->wanted.v[b->wanted.n++];
		r = want_location(b, f, &f->tables->location[i], &w->location, &w->hash);
		if (r == 0)
			hashindex_prefetch(&b->by_location, w->hash);
	}
	if (r == 0)
		find_wanted(b, f);
	b->lines.n = n_before;
	return r;
}
