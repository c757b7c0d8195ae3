#include "base/strtab.h"

#include "base/budget.h"
#include "base/hash.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Strings are packed into blocks that are never moved, so pointers to them hold.  Slots have the
 * hashes, so that neither growing nor passing by touches strings. */
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
	*t = (struct strtab){ .budget = budget, .cap = 64, .n_slots = 128 };
	t->str = calloc(t->cap, sizeof(*t->str));
	t->slot = calloc(t->n_slots, sizeof(*t->slot));
	if (!t->str || !t->slot) {
		free(t->str);
		free(t->slot);
		*t = (struct strtab){ 0 };
		return -ENOMEM;
	}
	charge(t, t->cap * sizeof(*t->str) + t->n_slots * sizeof(*t->slot));
	t->str[t->n++] = "";
	return 0;
}

void strtab_done(struct strtab *t)
{
	size_t held = t->cap * sizeof(*t->str) + t->n_slots * sizeof(*t->slot);
	while (t->block) {
		struct strtab_block *b = t->block;
		t->block = b->next;
		held += b->size;
		free(b);
	}
	if (t->budget && t->str)
		budget_release(t->budget, held);
	free(t->str);
	free(t->slot);
	*t = (struct strtab){ 0 };
}

static const char *store(struct strtab *t, const char *s, size_t n)
{
	struct strtab_block *b = t->block;
	if (!b || b->size - b->used < n + 1) {
		size_t size = n + 1 > STRTAB_BLOCK_BYTES ? n + 1 : STRTAB_BLOCK_BYTES;
		b = malloc(sizeof(*b) + size);
		if (!b)
			return NULL;
		*b = (struct strtab_block){ .next = t->block, .size = size };
		t->block = b;
		charge(t, size);
	}
	char *p = b->data + b->used;
	memcpy(p, s, n);
	p[n] = '\0';
	b->used += n + 1;
	return p;
}

static void place(struct strtab_slot *slot, uint32_t n_slots, uint32_t hash, uint32_t id)
{
	uint32_t i = hash & (n_slots - 1);
	while (slot[i].id)
		i = (i + 1) & (n_slots - 1);
	slot[i] = (struct strtab_slot){ hash, id };
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
	if (t->n * 2 >= t->n_slots) {
		struct strtab_slot *slot = calloc(t->n_slots * 2, sizeof(*slot));
		if (!slot)
			return -ENOMEM;
		for (uint32_t i = 0; i < t->n_slots; i++)
			if (t->slot[i].id)
				place(slot, t->n_slots * 2, t->slot[i].hash, t->slot[i].id);
		free(t->slot);
		t->slot = slot;
		charge(t, t->n_slots * sizeof(*slot));
		t->n_slots *= 2;
	}
	return 0;
}

static uint32_t find(const struct strtab *t, const char *s, size_t n, uint32_t hash)
{
	for (uint32_t i = hash & (t->n_slots - 1); t->slot[i].id; i = (i + 1) & (t->n_slots - 1)) {
		const char *have = t->str[t->slot[i].id];
		if (t->slot[i].hash == hash && strncmp(have, s, n) == 0 && have[n] == '\0')
			return t->slot[i].id;
	}
	return 0;
}

uint32_t strtab_find(const struct strtab *t, const char *s, size_t n)
{
	n = strnlen(s, n);
	return n ? find(t, s, n, (uint32_t)hash_bytes(s, n)) : 0;
}

/* s has no NUL among its n bytes. */
static uint32_t add(struct strtab *t, const char *s, size_t n)
{
	if (n == 0)
		return 0;
	uint32_t hash = (uint32_t)hash_bytes(s, n), known = find(t, s, n, hash);
	if (known)
		return known;
	if (grow(t) < 0)
		return 0;
	const char *p = store(t, s, n);
	if (!p)
		return 0;
	uint32_t id = t->n++;
	t->str[id] = p;
	place(t->slot, t->n_slots, hash, id);
	return id;
}

uint32_t strtab_add(struct strtab *t, const char *s, size_t n)
{
	return add(t, s, strnlen(s, n));
}

uint32_t strtab_add_cstr(struct strtab *t, const char *s)
{
	return add(t, s, strlen(s));
}

const char *strtab_get(const struct strtab *t, uint32_t id)
{
	assert(id < t->n);
	return t->str[id];
}
