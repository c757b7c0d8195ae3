/*
 * A position has the number of an inlined function (source-position.h).  It is the index of a row
 * with the position of the call that was replaced, which may be in an inlined function again, and
 * with the function: an index in the array of constants of the deoptimizer (deoptimization-data.h).
 */

#include "symbolize/runtime/v8-calls.h"

#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-script.h"
#include "symbolize/runtime/v8-text.h"

#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES_MAX (256u << 10)
#define ROW_BYTES 16
#define ROW_FUNCTION_OFF 8
#define INLINED_MAX 512u

/* x86-64: call with an offset, a register, or memory by a register; the longest is 7 bytes. */
#define CALL_BYTES 7u

void v8_calls_done(struct v8_calls *c)
{
	for (size_t i = 0; i < c->inlined.n; i++) {
		v8_function_done(&c->inlined.v[i]->function);
		free(c->inlined.v[i]);
	}
	VEC_FREE(&c->inlined);
	v8_function_done(&c->own);
}

size_t v8_calls_bytes(const struct v8_calls *c)
{
	size_t n = sizeof(*c) + v8_function_bytes(&c->own);
	for (size_t i = 0; i < c->inlined.n; i++)
		n += sizeof(*c->inlined.v[i]) + sizeof(c->inlined.v) +
		     v8_function_bytes(&c->inlined.v[i]->function);
	return n;
}

/* Does the code before an address end with a call?  Its last byte is at pc. */
static bool is_call(const struct v8_heap *h, uint64_t pc)
{
	uint8_t b[CALL_BYTES], target;
	int32_t off;
	if (!runtime_pages_read(h->pages, pc + 1 - sizeof(b), b, sizeof(b)))
		return false;
	memcpy(&off, b + 3, sizeof(off));
	uint64_t to = pc + 1 + (uint64_t)(int64_t)off;
	bool is_near = b[2] == 0xe8 && runtime_pages_read(h->pages, to, &target, 1);
	return is_near || (b[5] == 0xff && b[6] >> 3 == 0x1a) ||
	       (b[4] == 0xff && b[5] >> 3 == 0x0a) || (b[1] == 0xff && b[2] >> 3 == 0x12);
}

/* The position of an offset; false: there is none. */
static bool find_position(const struct v8_heap *h, const struct v8_calls *c, uint64_t pc,
			  struct v8_position *ret)
{
	uint64_t length = v8_word(h, c->positions, V8_LENGTH_OFF) >> 32;
	if (!c->positions || pc < c->first || length > TABLE_BYTES_MAX)
		return false;
	uint8_t *table = malloc(length + 1);
	bool is_read = table && runtime_pages_read(h->pages, c->positions - 1 + V8_FIRST_OFF, table,
						   length);
	*ret = is_read ? v8_positions_find(table, length, (uint32_t)(pc - c->first)) :
			 (struct v8_position){ .offset = -1 };
	free(table);
	return ret->offset >= 0;
}

/* ---- inlined functions ------------------------------------------------------------------- */

static const struct v8_function *inlined_function(const struct v8_heap *h,
						  struct v8_scripts *scripts, struct v8_calls *c,
						  uint32_t number)
{
	for (size_t i = 0; i < c->inlined.n; i++)
		if (c->inlined.v[i]->number == number)
			return &c->inlined.v[i]->function;
	struct v8_inlined *x = c->inlined.n < INLINED_MAX ? calloc(1, sizeof(*x)) : NULL;
	if (!x || !VEC_PUSH(&c->inlined, x)) {
		free(x);
		return NULL;
	}
	x->number = number;
	uint64_t constants = v8_element(h, c->deopt, h->layout->deopt_literals);
	v8_function_read(h, scripts, v8_element(h, constants, number), &x->function);
	return &x->function;
}

/* The row of an inlined function: where it was called, and which it is. */
static bool read_row(const struct v8_heap *h, const struct v8_calls *c, uint32_t i,
		     struct v8_position *ret, uint32_t *ret_number)
{
	uint64_t rows = v8_element(h, c->deopt, h->layout->deopt_inlining);
	uint64_t n_bytes = v8_word(h, rows, V8_LENGTH_OFF) >> 32;
	int32_t off = V8_FIRST_OFF + ROW_BYTES * (int32_t)i;
	if ((uint64_t)ROW_BYTES * (i + 1) > n_bytes)
		return false;
	*ret = v8_position_of(v8_word(h, rows, off));
	*ret_number = v8_int(h, rows, off + ROW_FUNCTION_OFF);
	return true;
}

static struct runtime_call call_of(const struct v8_heap *h, struct v8_scripts *scripts,
				   const struct v8_function *f, int64_t position)
{
	uint32_t line = position < 0 ? 0 : v8_script_line(h, scripts, &f->script, position);
	return (struct runtime_call){
		.name = f->name, .file = f->file, .line = line ? line : f->first_line,
		.first_line = f->first_line,
	};
}

size_t v8_calls_find(const struct v8_heap *h, struct v8_scripts *scripts, struct v8_calls *c,
		     uint64_t pc, struct runtime_call ret[RUNTIME_CALLS_MAX])
{
	struct v8_position p = { .offset = -1 };
	uint32_t number;
	size_t n = 0;
	if ((c->deopt && !is_call(h, pc)) || !find_position(h, c, pc, &p))
		p = (struct v8_position){ .offset = -1 };
	while (p.inlined && n + 1 < RUNTIME_CALLS_MAX) {
		struct v8_position outer;
		bool is_row = c->deopt && read_row(h, c, p.inlined - 1, &outer, &number);
		const struct v8_function *f = is_row ?
			inlined_function(h, scripts, c, number) : NULL;
		if (!f || !f->name) {
			/* without a part of the chain no function's line is known */
			n = 0;
			p.offset = -1;
			break;
		}
		ret[n++] = call_of(h, scripts, f, p.offset);
		p = outer;
	}
	ret[n] = call_of(h, scripts, &c->own, p.offset);
	return n + 1;
}
