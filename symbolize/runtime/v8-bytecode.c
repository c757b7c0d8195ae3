/*
 * A frame is believed if its function leads to its bytecode.  The collector moves young functions
 * soon, so that the function cannot be read any more; then the bytecode alone decides, if another
 * frame has shown before whose it is.  What two words of a frame have answered is remembered, since
 * frames without bytecode have other values there.
 */

#include "symbolize/runtime/v8-bytecode.h"

#include "base/hash.h"
#include "symbolize/runtime/v8-function.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-text.h"

#include <string.h>

#define BYTECODE_BYTES_MAX (16u << 20)

void v8_bytecodes_remove(struct v8_bytecodes *b, const struct v8_range *which)
{
	v8_ranges_remove(&b->ranges, which);
	memset(b->pair, 0, sizeof(b->pair));
}

/* ---- frames ------------------------------------------------------------------------------ */

enum witness { EQUAL, DIFFERENT, UNKNOWN };

uint64_t v8_bytecodes_shared(const struct v8_heap *h, uint64_t function)
{
	const struct v8_layout *l = h->layout;
	int32_t type = v8_type(h, function);
	if (type < l->type.function_first || type > l->type.function_last)
		return 0;
	uint64_t shared = v8_word(h, function, l->function_shared);
	return v8_type(h, shared) == l->type.shared ? shared : 0;
}

/* Does the function lead to that bytecode?  UNKNOWN: there is no function any more, as when it was
 * moved. */
static enum witness ask_function(const struct v8_heap *h, uint64_t function, uint64_t bytecode,
				 uint64_t *ret_shared)
{
	*ret_shared = v8_bytecodes_shared(h, function);
	if (!*ret_shared)
		return UNKNOWN;
	uint64_t data = v8_word(h, *ret_shared, h->layout->shared_data);
	return v8_function_bytecode(h, data) == bytecode ? EQUAL : DIFFERENT;
}

static const struct v8_range *learn(struct v8_bytecodes *b, const struct v8_heap *h,
				    uint64_t bytecode, uint64_t shared)
{
	uint64_t length = v8_word(h, bytecode, V8_LENGTH_OFF);
	uint64_t n_bytes = (uint64_t)h->layout->bytecode_first + (length >> 32);
	if (!v8_is_integer(length) || n_bytes > BYTECODE_BYTES_MAX)
		return NULL;
	b->n_learned++;
	return v8_ranges_add(&b->ranges, (struct v8_range){ bytecode - 1, bytecode - 1 + n_bytes,
							    shared });
}

const struct v8_range *v8_bytecodes_of_frame(struct v8_bytecodes *b, const struct v8_heap *h,
					     const struct runtime_frame *f)
{
	uint64_t context = f->below[0], function = f->below[1], bytecode = f->below[3], shared;
	if (!v8_is_object(context) || !v8_is_object(function) || !v8_is_object(bytecode))
		return NULL;
	const struct v8_range *known = v8_ranges_find(&b->ranges, bytecode - 1);
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
