/*
 * A frame is believed if its function leads to its bytecode.  The collector moves young functions
 * soon, so that the function cannot be read any more; then the bytecode alone decides, if another
 * frame has shown before whose it is.  What two words of a frame have answered is remembered, since
 * frames without bytecode have other values there.
 */

#include "symbolize/runtime/v8-bytecode.h"

#include "base/hash.h"
#include "base/search.h"
#include "symbolize/runtime/v8-function.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-text.h"

#include <string.h>

#define LENGTH_OFF 8                    /* FixedArrayBase */
#define BYTECODE_BYTES_MAX (16u << 20)
#define BYTECODES_MAX 65536u

void v8_bytecodes_done(struct v8_bytecodes *b)
{
	VEC_FREE(&b->v);
}

static size_t first_after(const struct v8_bytecodes *b, uint64_t at)
{
	return SEARCH_COUNT(b->v.n, i, b->v.v[i].end <= at);
}

const struct v8_bytecode *v8_bytecodes_find(const struct v8_bytecodes *b, uint64_t at)
{
	size_t i = first_after(b, at);
	return i < b->v.n && b->v.v[i].start <= at ? &b->v.v[i] : NULL;
}

static void remove_range(struct v8_bytecodes *b, size_t i, size_t n)
{
	memmove(&b->v.v[i], &b->v.v[i + n], (b->v.n - i - n) * sizeof(*b->v.v));
	b->v.n -= n;
}

void v8_bytecodes_remove(struct v8_bytecodes *b, const struct v8_bytecode *which)
{
	remove_range(b, (size_t)(which - b->v.v), 1);
	memset(b->pair, 0, sizeof(b->pair));
}

/* Takes the place of what was there. */
static const struct v8_bytecode *add(struct v8_bytecodes *b, struct v8_bytecode new)
{
	size_t i = first_after(b, new.start), n = 0;
	while (i + n < b->v.n && b->v.v[i + n].start < new.end)
		n++;
	remove_range(b, i, n);
	if (b->v.n >= BYTECODES_MAX || !VEC_RESERVE(&b->v, 1))
		return NULL;
	memmove(&b->v.v[i + 1], &b->v.v[i], (b->v.n - i) * sizeof(*b->v.v));
	b->v.v[i] = new;
	b->v.n++;
	return &b->v.v[i];
}

/* ---- frames ------------------------------------------------------------------------------ */

enum witness { EQUAL, DIFFERENT, UNKNOWN };

/* Does the function lead to that bytecode?  UNKNOWN: there is no function any more, as when it was
 * moved. */
static enum witness ask_function(const struct v8_heap *h, uint64_t function, uint64_t bytecode,
				 uint64_t *ret_shared)
{
	const struct v8_layout *l = h->layout;
	int32_t type = v8_type(h, function);
	if (type < l->type.function_first || type > l->type.function_last)
		return UNKNOWN;
	*ret_shared = v8_word(h, function, l->function_shared);
	if (v8_type(h, *ret_shared) != l->type.shared)
		return UNKNOWN;
	uint64_t data = v8_word(h, *ret_shared, l->shared_data);
	return v8_function_bytecode(h, data) == bytecode ? EQUAL : DIFFERENT;
}

static const struct v8_bytecode *learn(struct v8_bytecodes *b, const struct v8_heap *h,
				       uint64_t bytecode, uint64_t shared)
{
	uint64_t length = v8_word(h, bytecode, LENGTH_OFF);
	uint64_t n_bytes = (uint64_t)h->layout->bytecode_first + (length >> 32);
	if (!v8_is_integer(length) || n_bytes > BYTECODE_BYTES_MAX)
		return NULL;
	return add(b, (struct v8_bytecode){ bytecode - 1, bytecode - 1 + n_bytes, shared });
}

const struct v8_bytecode *v8_bytecodes_of_frame(struct v8_bytecodes *b, const struct v8_heap *h,
						const struct runtime_frame *f)
{
	uint64_t context = f->below[0], function = f->below[1], bytecode = f->below[3], shared;
	if (!v8_is_object(context) || !v8_is_object(function) || !v8_is_object(bytecode))
		return NULL;
	const struct v8_bytecode *known = v8_bytecodes_find(b, bytecode - 1);
	known = known && known->start == bytecode - 1 ? known : NULL;
	size_t i = hash_u64(function ^ bytecode << 17) % V8_BYTECODE_PAIRS;
	bool is_seen = b->pair[i].function == function && b->pair[i].bytecode == bytecode;
	if (is_seen && (known || !b->pair[i].is_equal))
		return b->pair[i].is_equal ? known : NULL;
	enum witness w = ask_function(h, function, bytecode, &shared);
	if (w == EQUAL && (!known || known->shared != shared))
		known = learn(b, h, bytecode, shared);
	b->pair[i].function = function;
	b->pair[i].bytecode = bytecode;
	b->pair[i].is_equal = w == EQUAL || (w == UNKNOWN && known);
	return b->pair[i].is_equal ? known : NULL;
}
