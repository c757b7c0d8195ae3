#include "interp/pycodes.h"

#include "agg/vfuncs.h"
#include "base/hash.h"
#include "symbolize/runtime/runtime-pages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program that makes functions all the time has new ones at new addresses. */
#define CODES_MAX 50000u

/* An object that has lived for so many times as long as it was not compared is the same one, unless
 * it is a module's.  But all objects are compared again in each period of PROOF_NS: those of a page
 * together, since it is read anyway. */
#define TRUST_PART 4u
#define PROOF_NS 250000000u

/* So many of those that the last period has used are compared at the start of the next one, since
 * their pages are read together then. */
#define DUE_MAX 512u

/* The name that CPython's own map for perf gives to a function. */
#define NAME_PREFIX "py::"

/* Objects with more instructions are not found by searching. */
#define SEARCH_PAGES 8u
#define NONE_ENTRIES 1024u
#define NONE_NS 1000000000u

static void forget(struct pycodes *c)
{
	for (size_t i = 0; i < c->v.n; i++)
		python_lines_done(&c->v.v[i].lines);
	VEC_FREE(&c->v);
	VEC_FREE(&c->spans.v);
	hashindex_done(&c->by_address);
	VEC_FREE(&c->used);
	VEC_FREE(&c->due);
	c->epoch++;
}

void pycodes_done(struct pycodes *c)
{
	forget(c);
	free(c->none);
	c->none = NULL;
}

void pycodes_limit(struct pycodes *c)
{
	if (c->v.n > CODES_MAX)
		forget(c);
}

/* ---- by address ------------------------------------------------------------------------ */

static void read_code(struct pycodes *c, struct pycode *code)
{
	struct python_code read;
	char name[sizeof(NAME_PREFIX) + sizeof(read.name)];
	code->function = VFUNCS_NONE;
	python_lines_done(&code->lines);
	if (!python_code_has_lines(c->pages, c->layout, c->bytes_type, code->at) ||
	    !python_code_read(c->pages, c->layout, c->code_type, code->at, &read))
		return;
	snprintf(name, sizeof(name), NAME_PREFIX "%s", read.name);
	code->function = vfuncs_add(c->vfuncs, name, read.file, read.lines.first);
	code->lines = read.lines;
	code->start = read.start;
	code->n_bytes = read.n_bytes;
	code->n_frame_bytes = read.n_frame_bytes;
	code->is_generator = read.is_generator;
	code->is_module = strcmp(read.name, "<module>") == 0;
}

static bool is_same(const struct python_code_key *a, const struct python_code_key *b)
{
	return a->name == b->name && a->file == b->file && a->lines == b->lines &&
	       a->n_bytes == b->n_bytes && a->first_line == b->first_line;
}

static uint32_t add_code(struct pycodes *c, uint64_t at, uint32_t old,
			 const struct python_code_key *key)
{
	uint64_t hash = hash_u64(at);
	struct pycode code = { .at = at, .key = *key, .met_ns = c->now_ns };
	uint32_t id = (uint32_t)c->v.n;
	code.proven_ns = c->now_ns;
	if (!hashindex_reserve(&c->by_address, false) || !VEC_PUSH(&c->v, code))
		return PYCODES_NONE;
	if (old != HASHINDEX_NONE) {
		hashindex_remove(&c->by_address, hash, old);
		c->v.v[old].is_replaced = true;
		c->n_replaced++;
	}
	hashindex_put(&c->by_address, hash, id);
	read_code(c, &c->v.v[id]);
	const struct pycode *added = &c->v.v[id];
	codespans_put(&c->spans, &(struct codespan){ added->start, added->n_bytes, id });
	return id;
}

static bool is_proven(const struct pycodes *c, const struct pycode *code)
{
	uint64_t since_ns = c->now_ns - code->proven_ns;
	if (!c->now_ns || !code->proven_ns || code->proven_ns / PROOF_NS != c->now_ns / PROOF_NS)
		return false;
	return !since_ns ||
	       (!code->is_module && since_ns < (code->proven_ns - code->met_ns) / TRUST_PART);
}

static void note_same(struct pycodes *c, uint32_t i)
{
	/* when it was met, the page with its name may have been read before it was made */
	if (!c->v.v[i].is_read_twice && c->now_ns != c->v.v[i].met_ns) {
		c->v.v[i].is_read_twice = true;
		read_code(c, &c->v.v[i]);
	}
	c->v.v[i].proven_ns = c->now_ns;
}

static void compare(struct pycodes *c, uint32_t i)
{
	struct python_code_key key;
	const struct pycode *code = &c->v.v[i];
	if (!code->is_replaced &&
	    python_code_key(c->pages, c->layout, c->code_type, code->at, &key) &&
	    is_same(&code->key, &key))
		note_same(c, i);
}

/* Compares what the last period has used. */
static void begin_period(struct pycodes *c, uint64_t period)
{
	uint64_t at[RUNTIME_PAGES_FETCH];
	uint32_t n = (uint32_t)(c->used.n < DUE_MAX ? c->used.n : DUE_MAX);
	c->period = period;
	c->due.n = 0;
	if (!n || !VEC_EXTEND(&c->due, n))
		return;
	memcpy(c->due.v, c->used.v, n * sizeof(*c->due.v));
	c->used.n = 0;
	for (uint32_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && end - i < RUNTIME_PAGES_FETCH; end++)
			at[end - i] = c->v.v[c->due.v[end]].at;
		runtime_pages_fetch(c->pages, at, end - i);
		for (uint32_t k = i; k < end; k++)
			compare(c, c->due.v[k]);
	}
}

static void note_use(struct pycodes *c, uint32_t i)
{
	uint64_t period = c->now_ns / PROOF_NS;
	if (c->period != period)
		begin_period(c, period);
	if (c->v.v[i].used_period == period)
		return;
	c->v.v[i].used_period = period;
	(void)VEC_PUSH(&c->used, i);
}

/* The object at that address.  i: the one that was met there, or HASHINDEX_NONE. */
static uint32_t prove(struct pycodes *c, uint64_t at, uint32_t i)
{
	struct python_code_key key;
	if (i != HASHINDEX_NONE && c->now_ns)
		note_use(c, i);
	if (i != HASHINDEX_NONE && is_proven(c, &c->v.v[i]))
		return i;
	if (!python_code_key(c->pages, c->layout, c->code_type, at, &key))
		return PYCODES_NONE;
	if (i == HASHINDEX_NONE || !is_same(&c->v.v[i].key, &key))
		return add_code(c, at, i, &key);
	note_same(c, i);
	return i;
}

uint32_t pycodes_at(struct pycodes *c, uint64_t at)
{
	return prove(c, at, HASHINDEX_FIND(&c->by_address, hash_u64(at), k, c->v.v[k].at == at));
}

uint32_t pycodes_known(const struct pycodes *c, uint64_t at)
{
	uint32_t i = HASHINDEX_FIND(&c->by_address, hash_u64(at), k, c->v.v[k].at == at);
	return i == HASHINDEX_NONE || c->v.v[i].function == VFUNCS_NONE ? PYCODES_NONE : i;
}

uint32_t pycodes_named(struct pycodes *c, uint32_t function)
{
	const struct pycode code = { .function = function, .is_named = true };
	return VEC_PUSH(&c->v, code) ? (uint32_t)c->v.n - 1 : PYCODES_NONE;
}

/* ---- by instruction -------------------------------------------------------------------- */

static uint32_t find_by_start(struct pycodes *c, uint64_t at)
{
	uint32_t id = codespans_find(&c->spans, at);
	if (id == CODESPANS_NONE)
		return PYCODES_NONE;
	const struct pycode *code = &c->v.v[id];
	if (code->is_replaced || at - code->start > code->n_bytes)
		return PYCODES_NONE;
	return prove(c, code->at, id) == id ? id : PYCODES_NONE;
}

/* Goes back from an instruction to the first code object. */
static uint32_t search(struct pycodes *c, uint64_t at)
{
	uint64_t word[RUNTIME_PAGE_BYTES / 8], page = at & ~(uint64_t)(RUNTIME_PAGE_BYTES - 1);
	size_t n = (at - page) / 8 + 1;
	uint32_t id;
	for (unsigned int i = 0; i < SEARCH_PAGES && page; i++) {
		/* mostly it is on the first page, or on none */
		if (i == 1)
			runtime_pages_before(c->pages, page, SEARCH_PAGES - 1);
		if (!runtime_pages_read(c->pages, page, word, sizeof(word)))
			return PYCODES_NONE;
		while (n-- > 0) {
			if (word[n] != c->code_type)
				continue;
			id = pycodes_at(c, page + 8 * n - PYTHON_TYPE_OFF);
			if (id != PYCODES_NONE && c->v.v[id].function != VFUNCS_NONE)
				return id;
		}
		page -= RUNTIME_PAGE_BYTES;
		n = RUNTIME_PAGE_BYTES / 8;
	}
	return PYCODES_NONE;
}

/* Values that are no instructions are mostly addresses of other objects, many on the same pages: a
 * page where nothing was found is left alone for a while, except for values that should be
 * instructions. */
static uint32_t search_once(struct pycodes *c, uint64_t at, enum interp_search how)
{
	uint64_t page = at / RUNTIME_PAGE_BYTES;
	if (!c->none && !(c->none = calloc(NONE_ENTRIES, sizeof(*c->none))))
		return PYCODES_NONE;
	size_t slot = hash_u64(page) % NONE_ENTRIES;
	bool is_left_alone = how == INTERP_SEARCH_LIKELY ?
		c->none[slot].instruction == at :
		c->none[slot].instruction / RUNTIME_PAGE_BYTES == page;
	if (is_left_alone && c->now_ns - c->none[slot].time_ns < NONE_NS)
		return PYCODES_NONE;
	uint32_t id = search(c, at);
	if (id != PYCODES_NONE && at - c->v.v[id].start <= c->v.v[id].n_bytes)
		return id;
	c->none[slot].instruction = at;
	c->none[slot].time_ns = c->now_ns;
	return PYCODES_NONE;
}

uint32_t pycodes_of(struct pycodes *c, uint64_t instruction, enum interp_search how)
{
	if (instruction % 2)
		return PYCODES_NONE;
	uint32_t id = find_by_start(c, instruction);
	bool may_search = how != INTERP_SEARCH_KNOWN && !c->layout->has_object_code;
	return id == PYCODES_NONE && may_search ? search_once(c, instruction, how) : id;
}

/* A table is read from its beginning, and calls are looked up again and again. */
uint32_t pycodes_line(struct pycodes *c, uint32_t id, uint32_t off)
{
	struct pycode *code = &c->v.v[id];
	if (code->is_named)
		return off;
	size_t slot = off / 2 % PYCODES_LINES;
	if (off && code->known[slot].off == off)
		return code->known[slot].line;
	uint32_t line = python_lines_find((enum python_lines_format)c->layout->lines, &code->lines,
					  off);
	code->known[slot].off = off;
	code->known[slot].line = line;
	return line;
}
