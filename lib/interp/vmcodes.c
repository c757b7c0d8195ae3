#include "interp/vmcodes.h"

#include "agg/vfuncs.h"
#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A program that makes functions all the time has new ones at new addresses. */
#define CODES_MAX 50000u

#define PREFIX_BYTES_MAX 8u

static void forget(struct vmcodes *c)
{
	for (size_t i = 0; i < c->v.n; i++)
		free(c->v.v[i].lines.line);
	VEC_FREE(&c->v);
	VEC_FREE(&c->spans.v);
	hashindex_done(&c->by_key);
	c->epoch++;
}

void vmcodes_done(struct vmcodes *c)
{
	forget(c);
}

void vmcodes_limit(struct vmcodes *c)
{
	if (c->v.n > CODES_MAX)
		forget(c);
}

static uint64_t hash_key(const struct runtime_function_key *key)
{
	uint64_t hash = 0;
	for (unsigned int i = 0; i < RUNTIME_FUNCTION_WORDS; i++)
		hash = hash_pair(hash, key->word[i]);
	return hash;
}

uint32_t vmcodes_find(const struct vmcodes *c, const struct runtime_function_key *key)
{
	uint32_t i = HASHINDEX_FIND(&c->by_key, hash_key(key), k,
				    memcmp(&c->v.v[k].key, key, sizeof(*key)) == 0);
	return i == HASHINDEX_NONE ? VMCODES_NONE : i;
}

static uint32_t add_name(struct vmcodes *c, const struct runtime_function *f)
{
	char name[PREFIX_BYTES_MAX + RUNTIME_FUNCTION_TEXT_BYTES];
	snprintf(name, sizeof(name), "%s%s", c->prefix, f->name);
	return vfuncs_add(c->vfuncs, name, f->file, f->first_line);
}

uint32_t vmcodes_add(struct vmcodes *c, const struct runtime_function_key *key,
		     struct runtime_function *f)
{
	const struct vmcode code = {
		.key = *key, .function = add_name(c, f), .start = f->start, .n_bytes = f->n_bytes,
		.lines = f->lines, .met = c->reading,
	};
	uint32_t id = (uint32_t)c->v.n;
	bool is_added = code.function != VFUNCS_NONE && hashindex_reserve(&c->by_key, false) &&
			VEC_PUSH(&c->v, code);
	if (!is_added) {
		free(f->lines.line);
		return VMCODES_NONE;
	}
	hashindex_put(&c->by_key, hash_key(key), id);
	codespans_put(&c->spans, &(struct codespan){ code.start, code.n_bytes, id });
	return id;
}

bool vmcodes_is_young(const struct vmcodes *c, uint32_t id)
{
	return !c->v.v[id].is_read_twice && c->v.v[id].met != c->reading;
}

void vmcodes_read_again(struct vmcodes *c, uint32_t id, struct runtime_function *f)
{
	struct vmcode *code = &c->v.v[id];
	uint32_t function = f ? add_name(c, f) : VFUNCS_NONE;
	code->is_read_twice = true;
	if (function != VFUNCS_NONE) {
		free(code->lines.line);
		code->function = function;
		code->lines = f->lines;
	} else if (f) {
		free(f->lines.line);
	}
}

uint32_t vmcodes_of(const struct vmcodes *c, uint64_t instruction)
{
	uint32_t id = codespans_find(&c->spans, instruction);
	if (id == CODESPANS_NONE)
		return VMCODES_NONE;
	return instruction - c->v.v[id].start < c->v.v[id].n_bytes ? id : VMCODES_NONE;
}
