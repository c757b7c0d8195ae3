/*
 * Two kinds of pieces have names.
 *
 * Compiled code.  Its instructions are preceded by the head of their object, which leads to its
 * Code, which leads back: so that head is searched backwards from the pc.  The Code leads to the
 * data of the deoptimizer, and that to the function; that of the baseline compiler (Sparkplug)
 * leads to the function's bytecode instead.
 *
 * Bytecode.  All functions that are interpreted have their pc in the interpreter, but their frame
 * has the bytecode and the offset in it (v8-bytecode.h).  So the address of the bytecode takes the
 * place of the pc.
 *
 * Neither moves while the function is used, unlike the function itself, which the collector may
 * move between the sample and its reading.
 */

#include "symbolize/runtime/v8-code.h"

#include "base/hash.h"
#include "symbolize/runtime/runtime-code.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/v8-bytecode.h"
#include "symbolize/runtime/v8-calls.h"
#include "symbolize/runtime/v8-function.h"
#include "symbolize/runtime/v8-layout.h"
#include "symbolize/runtime/v8-text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For one question. */
#define PAGES_MAX 192u
#define SEARCH_BYTES_MAX (512u << 10)
#define CODE_ALIGNMENT 32u
#define MAPS_N 4u
#define PAIRS_N 1024u
#define STRANGE_MAPS_MAX 64u            /* that may be a map, but are not known */
#define CODE_BYTES_MAX (64u << 20)
#define WITNESS_BYTES 16u
#define CODE_OFF 8                      /* in the head of instructions */
#define WRAPPED_OFF 8

struct program {
	struct v8_layout layout;
	struct v8_scripts scripts;
	struct v8_bytecodes bytecodes;
	struct v8_ranges codes;         /* compiled code that was found */
	/* Functions of frames, and the code in which they are. */
	struct { uint64_t function, start; } pair[PAIRS_N];
	uint64_t map[MAPS_N];           /* of the heads of instructions: one for each isolate */
	unsigned int next_map;
};

/* ---- a program --------------------------------------------------------------------------- */

static enum runtime_code_result open_program(const struct runtime_code_source *from,
					     struct runtime_code_program *ret)
{
	struct program *p = calloc(1, sizeof(*p));
	*ret = (struct runtime_code_program){ .data = NULL };
	if (!p)
		return RUNTIME_CODE_UNREADABLE;
	enum v8_layout_result r = v8_layout_read(from, &p->layout, &ret->missing);
	memcpy(ret->version, p->layout.version, sizeof(ret->version));
	if (r == V8_LAYOUT_OK) {
		ret->data = p;
		return RUNTIME_CODE_OK;
	}
	free(p);
	return r == V8_LAYOUT_UNREADABLE ? RUNTIME_CODE_UNREADABLE : RUNTIME_CODE_UNSUPPORTED;
}

static void close_program(void *program)
{
	struct program *p = program;
	v8_scripts_done(&p->scripts);
	VEC_FREE(&p->bytecodes.ranges.v);
	VEC_FREE(&p->codes.v);
	free(p);
}

/* One question: its reads see one state of the memory, and are bounded. */
struct question {
	struct runtime_pages pages;
	struct v8_heap heap;
};

static const struct v8_heap *begin(struct question *q, const struct program *p,
				   const struct runtime_code_source *from)
{
	runtime_pages_init(&q->pages, from->memory, PAGES_MAX);
	q->heap = (struct v8_heap){ &p->layout, &q->pages };
	return &q->heap;
}

/* ---- pieces ------------------------------------------------------------------------------ */

static bool set_witness(const struct v8_heap *h, struct runtime_code *code, unsigned int i,
			uint64_t at)
{
	struct runtime_code_witness *w = &code->witness[i];
	w->at = at;
	w->n_bytes = WITNESS_BYTES;
	return runtime_pages_read(h->pages, at, w->bytes, WITNESS_BYTES);
}

static void release_code(struct runtime_code *code)
{
	struct v8_calls *c = code->data;
	if (c)
		v8_calls_done(c);
	free(c);
	code->data = NULL;
}

/* Sets what the function of a piece has. */
static bool set_function(struct program *p, const struct v8_heap *h, uint64_t shared,
			 struct runtime_code *code)
{
	struct v8_calls *c = calloc(1, sizeof(*c));
	code->data = c;
	if (!c || !v8_function_read(h, &p->scripts, shared, &c->own))
		return false;
	code->name = c->own.name;
	code->body_off = UINT32_MAX;
	code->n_held_bytes = v8_calls_bytes(c);
	return true;
}

static bool read_bytecode(struct program *p, const struct v8_heap *h, struct v8_range b,
			  struct runtime_code *code)
{
	const struct v8_layout *l = &p->layout;
	uint64_t data = v8_word(h, b.shared, l->shared_data);
	code->start = b.start;
	code->n_bytes = b.end - b.start;
	if (v8_function_bytecode(h, data) != b.start + 1 ||
	    !set_witness(h, code, 0, b.start + CODE_OFF) ||
	    !set_witness(h, code, 1, b.shared - 1 + (uint64_t)l->shared_data) ||
	    !set_function(p, h, b.shared, code))
		return false;
	struct v8_calls *c = code->data;
	c->positions = v8_word(h, b.start + 1, l->bytecode_positions);
	c->first = b.start + (uint64_t)l->bytecode_first;
	return true;
}

/* ---- compiled code ----------------------------------------------------------------------- */

static bool is_known_map(const struct program *p, uint64_t map)
{
	for (unsigned int i = 0; i < MAPS_N; i++)
		if (p->map[i] == map)
			return true;
	return false;
}

/* Instructions that start at an address, and their Code, an object; 0: there are none. */
static uint64_t code_at(const struct v8_heap *h, uint64_t start, uint64_t *ret_n_bytes)
{
	const struct v8_layout *l = h->layout;
	uint64_t head = start - (uint64_t)l->stream_start + 1, code = head;
	if (l->type.stream >= 0) {
		code = v8_word(h, head, CODE_OFF);
		if (v8_type(h, head) != l->type.stream ||
		    v8_word(h, code, l->code_stream) != head ||
		    v8_word(h, code, l->code_start) != start)
			return 0;
	}
	*ret_n_bytes = v8_int(h, code, l->code_size);
	return v8_type(h, code) == l->type.code && *ret_n_bytes < CODE_BYTES_MAX ? code : 0;
}

/* Searches backwards for the code that contains pc, by maps that are known or any. */
static uint64_t search_code(struct program *p, const struct v8_heap *h, uint64_t pc, bool is_any,
			    uint64_t *ret_start, uint64_t *ret_n_bytes)
{
	uint64_t start = pc & ~(uint64_t)(CODE_ALIGNMENT - 1);
	uint64_t lowest = pc > SEARCH_BYTES_MAX ? pc - SEARCH_BYTES_MAX : CODE_ALIGNMENT;
	unsigned int n_strange = 0;
	for (; start > lowest && n_strange < STRANGE_MAPS_MAX; start -= CODE_ALIGNMENT) {
		uint64_t map = v8_word(h, start - (uint64_t)p->layout.stream_start + 1, 0);
		bool is_known = is_known_map(p, map);
		if (!v8_is_object(map) || map >> 47 || (!is_known && !is_any))
			continue;
		n_strange += !is_known;
		uint64_t code = code_at(h, start, ret_n_bytes);
		if (!code)
			continue;
		if (!is_known)
			p->map[p->next_map++ % MAPS_N] = map;
		*ret_start = start;
		return pc - start < *ret_n_bytes ? code : 0;
	}
	return 0;
}

/* The function of compiled code whose Code has that data, of the deoptimizer. */
static uint64_t optimized_function(const struct program *p, const struct v8_heap *h, uint64_t data)
{
	uint64_t shared = v8_element(h, data, p->layout.deopt_shared);
	return p->layout.is_wrapped ? v8_word(h, shared, WRAPPED_OFF) : shared;
}

/* Baseline code is known when a frame has shown whose bytecode it was made from. */
static uint64_t baseline_function(const struct program *p, uint64_t bytecode)
{
	const struct v8_range *b = v8_ranges_find(&p->bytecodes.ranges, bytecode - 1);
	return b && b->start == bytecode - 1 ? b->shared : 0;
}

static bool read_code(struct program *p, const struct v8_heap *h, uint64_t pc,
		      struct runtime_code *code)
{
	const struct v8_layout *l = &p->layout;
	uint64_t at = search_code(p, h, pc, false, &code->start, &code->n_bytes);
	if (!at)
		at = search_code(p, h, pc, true, &code->start, &code->n_bytes);
	uint64_t data = v8_word(h, at, l->code_data), bytecode = v8_function_bytecode(h, data);
	uint64_t shared = bytecode ? baseline_function(p, bytecode)
				   : optimized_function(p, h, data);
	if (!at || !set_witness(h, code, 0, code->start - (uint64_t)l->stream_start) ||
	    !set_witness(h, code, 1, at - 1 + (uint64_t)l->code_data) ||
	    !set_function(p, h, shared, code))
		return false;
	struct v8_calls *c = code->data;
	if (!bytecode) {
		c->deopt = data;
		c->positions = v8_word(h, at, l->code_positions);
		c->first = code->start;
	}
	return v8_ranges_add(&p->codes, (struct v8_range){ code->start,
							   code->start + code->n_bytes, shared });
}

static bool find_code(void *program, const struct runtime_code_source *from, uint64_t pc,
		      struct runtime_code *ret)
{
	struct program *p = program;
	struct question q;
	const struct v8_heap *h = begin(&q, p, from);
	const struct v8_range *known = v8_ranges_find(&p->bytecodes.ranges, pc);
	*ret = (struct runtime_code){ .data = NULL };
	bool is_found = known ? read_bytecode(p, h, *known, ret) : read_code(p, h, pc, ret);
	if (known && !is_found)
		v8_bytecodes_remove(&p->bytecodes, known);
	if (!is_found)
		release_code(ret);
	runtime_pages_done(&q.pages);
	return is_found;
}

/* ---- frames ------------------------------------------------------------------------------ */

/*
 * Code that was freed keeps its head, and other code may be put after it.  Then the function of
 * the frame is another one than that of the code which was found before, and a head is nearer.
 */
static bool is_stale(struct program *p, const struct v8_heap *h, const struct runtime_frame *f)
{
	const struct v8_range *known = v8_ranges_find(&p->codes, f->pc);
	uint64_t function = f->below[1], start, n_bytes;
	if (!known || !v8_is_object(f->below[0]) || !v8_is_object(function))
		return false;
	size_t i = hash_u64(function ^ known->start << 17) % PAIRS_N;
	if (p->pair[i].function == function && p->pair[i].start == known->start)
		return false;
	if (v8_bytecodes_shared(h, function) != known->shared &&
	    (!search_code(p, h, f->pc, false, &start, &n_bytes) || start != known->start)) {
		v8_ranges_remove(&p->codes, known);
		memset(p->pair, 0, sizeof(p->pair));
		return true;
	}
	p->pair[i].function = function;
	p->pair[i].start = known->start;
	return false;
}

static enum runtime_frame_kind find_frame(void *program, const struct runtime_code_source *from,
					  const struct runtime_frame *f, uint64_t *ret_pc)
{
	struct program *p = program;
	struct question q;
	uint64_t offset = f->below[4];
	uint32_t n_learned = p->bytecodes.n_learned;
	const struct v8_heap *h = begin(&q, p, from);
	const struct v8_range *b = v8_bytecodes_of_frame(&p->bytecodes, h, f);
	bool has_other_code = !f->vaddr && is_stale(p, h, f);
	runtime_pages_done(&q.pages);
	if (has_other_code)
		return RUNTIME_FRAME_OTHER_CODE;
	if (n_learned != p->bytecodes.n_learned && !f->vaddr)
		return RUNTIME_FRAME_NEW;
	bool is_interpreted = f->vaddr >= p->layout.builtins_start &&
			      f->vaddr < p->layout.builtins_end;
	if (!b || !is_interpreted || !v8_is_integer(offset))
		return RUNTIME_FRAME_PLAIN;
	*ret_pc = b->start + 1 + (offset >> 32);
	return *ret_pc >= b->start + (uint64_t)p->layout.bytecode_first && *ret_pc < b->end ?
		RUNTIME_FRAME_FOUND : RUNTIME_FRAME_PLAIN;
}

/* ---- functions --------------------------------------------------------------------------- */

static size_t find_calls(void *program, const struct runtime_code_source *from,
			 struct runtime_code *code, uint64_t pc,
			 struct runtime_call ret[RUNTIME_CALLS_MAX])
{
	struct program *p = program;
	struct question q;
	const struct v8_heap *h = begin(&q, p, from);
	size_t n = v8_calls_find(h, &p->scripts, code->data, pc, ret);
	code->n_held_bytes = v8_calls_bytes(code->data);
	runtime_pages_done(&q.pages);
	return n;
}

const struct runtime_code_ops v8_code_ops = {
	.open = open_program,
	.close = close_program,
	.find = find_code,
	.release = release_code,
	.calls = find_calls,
	.frame = find_frame,
};
