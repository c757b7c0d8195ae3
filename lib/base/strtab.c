#include "base/strtab.h"

#include "base/budget.h"
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Strings are packed into blocks that never move, so pointers to them stay valid.  Before each one
 * is its length. */
struct strtab_block {
	struct strtab_block *next;
	size_t used, size;
	char data[];
};

#define STRTAB_BLOCK_BYTES (64u * 1024)

static void charge(struct strtab *t, size_t n)
{
	if (t->budget)
		budget_charge_always(t->budget, n);
}

int strtab_init(struct strtab *t, struct budget *budget)
{
	*t = (struct strtab){ .budget = budget, .cap = 64, .index.budget = budget };
	t->str = calloc(t->cap, sizeof(*t->str));
	if (!t->str) {
		*t = (struct strtab){ 0 };
		return -ENOMEM;
	}
	charge(t, t->cap * sizeof(*t->str));
	t->str[t->n++] = "";
	return 0;
}

void strtab_done(struct strtab *t)
{
	size_t held = t->cap * sizeof(*t->str);
	while (t->block) {
		struct strtab_block *b = t->block;
		t->block = b->next;
		held += b->size;
		free(b);
	}
	if (t->budget && t->str)
		budget_release(t->budget, held);
	free(t->str);
	hashindex_done(&t->index);
	*t = (struct strtab){ 0 };
}

static const char *store(struct strtab *t, const char *s, size_t n)
{
	struct strtab_block *b = t->block;
	uint32_t length = (uint32_t)n;
	if (n > UINT32_MAX)
		return NULL;
	size_t n_bytes = sizeof(length) + n + 1;
	if (!b || b->size - b->used < n_bytes) {
		size_t size = n_bytes > STRTAB_BLOCK_BYTES ? n_bytes : STRTAB_BLOCK_BYTES;
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct strtab_block){ .next = t->block, .size = size };
		t->block = b;
		charge(t, size);
	}
	char *p = b->data + b->used;
	memcpy(p, &length, sizeof(length));
	p += sizeof(length);
	memcpy(p, s, n);
	p[n] = '\0';
	b->used += n_bytes;
	return p;
}

static size_t length_of(const char *stored)
{
	uint32_t length;
	memcpy(&length, stored - sizeof(length), sizeof(length));
	return length;
}

static int grow(struct strtab *t)
{
	if (t->n == t->cap) {
		const char **str = reallocarray(t->str, t->cap, 2 * sizeof(*str));
		if (!str)
			return -ENOMEM;
		t->str = str;
		charge(t, t->cap * sizeof(*str));
		t->cap *= 2;
	}
	return hashindex_reserve(&t->index, true) ? 0 : -ENOMEM;
}

/* 0: not found. */
static uint32_t find(const struct strtab *t, const char *s, size_t n, uint64_t hash)
{
	return HASHINDEX_FIND(&t->index, hash, i, length_of(t->str[i + 1]) == n &&
			      memcmp(t->str[i + 1], s, n) == 0) + 1;
}

uint32_t strtab_find(const struct strtab *t, const char *s, size_t n)
{
	n = strnlen(s, n);
	return n ? find(t, s, n, hash_bytes(s, n)) : 0;
}

void strtab_prefetch(const struct strtab *t, const struct strtab_text *const *text, size_t n)
{
	uint32_t id[STRTAB_PREFETCH_MAX];
	for (size_t i = 0; i < n; i++)
		hashindex_prefetch(&t->index, text[i]->hash);
	for (size_t i = 0; i < n; i++) {
		id[i] = HASHINDEX_FIND(&t->index, text[i]->hash, k, true) + 1;
		__builtin_prefetch(&t->str[id[i]]);
	}
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(t->str[id[i]]);
}

/* The n bytes contain no NUL. */
static uint32_t add(struct strtab *t, const char *s, size_t n, uint64_t hash)
{
	if (n == 0)
		return 0;
	uint32_t id = find(t, s, n, hash);
	if (id)
		return id;
	if (grow(t) < 0)
		return 0;
	const char *p = store(t, s, n);
	if (!p)
		return 0;
	id = t->n++;
	t->str[id] = p;
	hashindex_put(&t->index, hash, id - 1);
	return id;
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t n)
{
	n = strnlen(s, n);
	return add(t, s, n, hash_bytes(s, n));
}

struct strtab_text strtab_text_of(const char *s, size_t n)
{
	n = strnlen(s, n);
	return (struct strtab_text){ s, hash_bytes(s, n), n };
}

uint32_t strtab_add_text(struct strtab *t, const struct strtab_text *text)
{
	return add(t, text->s, text->n, text->hash);
}

uint32_t strtab_add_cstr(struct strtab *t, const char *s)
{
	size_t n = strlen(s);
	return add(t, s, n, hash_bytes(s, n));
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	assert(id < t->n);
	return t->str[id];
}
