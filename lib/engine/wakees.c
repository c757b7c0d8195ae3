/* Two numbers may have the same stack after equal stacks were merged, which does no harm. */

#include "engine/wakees.h"

#include "agg/labels.h"
#include "agg/stacks.h"
#include "base/hash.h"
#include "base/strtab.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void wakees_init(struct wakees *w, struct strtab *strings, struct labels *labels)
{
	*w = (struct wakees){ .strings = strings, .labels = labels };
}

void wakees_clear(struct wakees *w)
{
	hashindex_done(&w->by_stack);
	w->stack.n = 0;
}

void wakees_done(struct wakees *w)
{
	hashindex_done(&w->by_stack);
	VEC_FREE(&w->stack);
}

/* HASHINDEX_NONE: there are too many, or no memory. */
static uint32_t number_of(struct wakees *w, uint32_t stack)
{
	uint64_t hash = hash_u64(stack);
	uint32_t at = HASHINDEX_FIND(&w->by_stack, hash, i, w->stack.v[i] == stack);
	if (at != HASHINDEX_NONE || w->stack.n == WAKEES_MAX)
		return at;
	at = (uint32_t)w->stack.n;
	if (!hashindex_reserve(&w->by_stack, false) || !VEC_PUSH(&w->stack, stack))
		return HASHINDEX_NONE;
	hashindex_put(&w->by_stack, hash, at);
	return at;
}

uint32_t wakees_add(struct wakees *w, uint32_t set, uint32_t stack)
{
	char text[16];
	uint32_t number = number_of(w, stack);
	if (number == HASHINDEX_NONE)
		return set;
	snprintf(text, sizeof(text), "%" PRIu32, number);
	struct label label = {
		.key = strtab_add_cstr(w->strings, WAKEES_KEY),
		.value = strtab_add_cstr(w->strings, text),
	};
	uint32_t added = labels_add(w->labels, &label, 1, false);
	return added == LABELS_NONE ? set : labels_join(w->labels, set, added);
}

uint32_t wakees_stack(const struct wakees *w, const char *value)
{
	unsigned long number = strtoul(value, NULL, 10);
	return number < w->stack.n ? w->stack.v[number] : STACKS_NONE;
}

void wakees_each_stack(struct wakees *w, void (*each)(void *ctx, uint32_t *stack), void *ctx)
{
	hashindex_done(&w->by_stack);
	for (uint32_t i = 0; i < w->stack.n; i++) {
		each(ctx, &w->stack.v[i]);
		hashindex_add(&w->by_stack, hash_u64(w->stack.v[i]), i);
	}
}
