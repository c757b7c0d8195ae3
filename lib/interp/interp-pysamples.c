/*
 * CPython for samples.  The loop's next instruction is in a place that is read when the sample is
 * taken, and it is at least two bytes after the start of the present one: so the bytes before it
 * belong to the present one, or to its inline caches.
 */

#include "interp/interp-python-private.h"

#include "agg/labels.h"
#include "agg/vfuncs.h"
#include "base/hash.h"
#include "base/strtab.h"

#include <stdio.h>
#include <string.h>

#define UNIT 2u

/* Modules that are part of the interpreter have files like <frozen importlib._bootstrap>. */
#define FROZEN "<frozen "

static uint32_t renew(void *ctx, uint64_t now_ns)
{
	struct python *p = ctx;
	uint32_t epoch = p->codes.epoch;
	interp_language_renew(&p->base);
	p->frame_pages.n_left = p->base.pages.n_left;
	pycodes_limit(&p->codes);
	if (p->codes.epoch != epoch)
		memset(p->may_call, 0, sizeof(p->may_call));
	p->codes.now_ns = now_ns;
	return p->codes.epoch;
}

static void forget(void *ctx)
{
	struct python *p = ctx;
	runtime_pages_again(&p->frame_pages);
}

static void use_second(void *ctx)
{
	struct python *p = ctx;
	runtime_pages_use_second(&p->frame_pages);
}

static uint32_t code_of(void *ctx, uint64_t instruction, enum interp_search how,
			uint32_t *ret_off)
{
	struct python *p = ctx;
	uint32_t code = pycodes_of(&p->codes, instruction, how);
	if (code == PYCODES_NONE)
		return INTERP_NO_CODE;
	uint64_t off = instruction - p->codes.v.v[code].start;
	*ret_off = (uint32_t)(off >= UNIT ? off - UNIT : 0);
	return code;
}

static uint32_t code_of_frame(void *ctx, uint64_t at)
{
	struct python *p = ctx;
	uint64_t code;
	return at % 8 == 0 && python_frames_code(&p->program, &p->base.pages, at, &code)
		       ? pycodes_at(&p->codes, code) : INTERP_NO_CODE;
}

static bool is_shared(void *ctx, uint32_t code, uint32_t other)
{
	const struct python *p = ctx;
	return code == other || (p->program.layout.has_object_code &&
				 p->codes.v.v[code].start == p->codes.v.v[other].start);
}

static uint32_t line(void *ctx, uint32_t code, uint32_t off)
{
	struct python *p = ctx;
	return pycodes_line(&p->codes, code, off);
}

/* Frames must have been seen to follow each other so. */
#define FITS_MIN 8u
#define FITS_MAX 1000u
#define MISFIT_PART 8u                  /* memory is in chunks */

/* In 3.11 a generator always has an activation of its own. */
static enum interp_frames_where where_of(const struct python *p, const struct pycode *c)
{
	if (!c->n_frame_bytes)
		return INTERP_FRAMES_UNKNOWN;
	if (!c->is_generator)
		return INTERP_FRAMES_STACKED;
	return p->program.layout.entry == PYTHON_ENTRY_MARKED ? INTERP_FRAMES_FIRST :
								INTERP_FRAMES_ELSEWHERE;
}

static enum interp_frames_where frames_where(void *ctx, uint32_t code, uint32_t *ret_bytes)
{
	const struct python *p = ctx;
	const struct pycode *c = &p->codes.v.v[code];
	*ret_bytes = c->n_frame_bytes;
	return p->n_fits < FITS_MIN || p->n_misfits * MISFIT_PART > p->n_fits ?
		INTERP_FRAMES_UNKNOWN : where_of(p, c);
}

/* Programs that come as text, and code that they make, have the same names for other functions. */
static bool has_file(const struct python *p, uint32_t function)
{
	const struct vfuncs *f = p->base.t.vfuncs;
	const char *file = strtab_get(&f->strings, f->v[function].file);
	return *file && (*file != '<' || strncmp(file, FROZEN, strlen(FROZEN)) == 0);
}

static bool identify(void *ctx, uint32_t code, struct interp_function *ret)
{
	const struct python *p = ctx;
	const struct pycode *c = &p->codes.v.v[code];
	*ret = (struct interp_function){
		.name = c->function, .n_bytes = (uint32_t)c->n_bytes, .where = where_of(p, c),
		.n_frame_bytes = c->n_frame_bytes,
	};
	return c->function != VFUNCS_NONE && c->n_bytes && has_file(p, c->function);
}

static uint32_t code_named(void *ctx, const struct interp_function *f)
{
	struct python *p = ctx;
	uint32_t code = pycodes_named(&p->codes, f->name);
	return code != PYCODES_NONE ? code : INTERP_NO_CODE;
}

/* Does the frame of a function begin where that of its caller ends? */
static void note_fit(struct python *p, const struct interp_link *inner,
		     const struct interp_link *outer)
{
	const struct pycode *c = &p->codes.v.v[outer->code];
	if (c->is_generator || p->codes.v.v[inner->code].is_generator || p->n_fits > FITS_MAX)
		return;
	if (c->n_frame_bytes && inner->at == outer->at + c->n_frame_bytes)
		p->n_fits++;
	else
		p->n_misfits++;
}

static bool trace(void *ctx, uint64_t at, uint32_t *ret_code, uint64_t *ret_caller)
{
	struct python *p = ctx;
	uint64_t code;
	if (at % 8 != 0 ||
	    !python_frames_trace(&p->program, &p->frame_pages, at, &code, ret_caller))
		return false;
	*ret_code = pycodes_known(&p->codes, code);
	return *ret_code != PYCODES_NONE;
}

static bool may_call(void *ctx, uint32_t code, uint32_t other)
{
	struct python *p = ctx;
	size_t slot = hash_pair(code, other) % INTERP_PYTHON_CALLS;
	if (p->may_call[slot].code == code + 1 && p->may_call[slot].other == other + 1)
		return p->may_call[slot].may;
	p->may_call[slot].code = code + 1;
	p->may_call[slot].other = other + 1;
	p->may_call[slot].may = python_code_uses(&p->base.pages, &p->program.layout,
						 p->codes.v.v[code].at, p->codes.v.v[other].at);
	return p->may_call[slot].may;
}

static uint32_t n_replaced(void *ctx)
{
	const struct python *p = ctx;
	return p->codes.n_replaced;
}

static bool chain(void *ctx, uint64_t at, struct interp_chain *ret)
{
	struct python *p = ctx;
	ret->link.n = ret->ends.n = 0;
	ret->is_whole = false;
	if (!python_frames_read(&p->program, &p->frame_pages, at, &p->frames) ||
	    !p->frames.frames.n || !VEC_RESERVE(&ret->link, p->frames.frames.n) ||
	    !VEC_RESERVE(&ret->ends, p->frames.ends.n))
		return false;
	for (size_t i = 0; i < p->frames.frames.n; i++) {
		const struct python_frame *f = &p->frames.frames.v[i];
		uint32_t code = pycodes_at(&p->codes, f->code);
		if (code == PYCODES_NONE || p->codes.v.v[code].function == VFUNCS_NONE)
			return i > 0;
		uint64_t off = f->off > 0 ? (uint64_t)f->off : 0;
		ret->link.v[ret->link.n++] = (struct interp_link){
			f->at, code, off < UINT32_MAX ? (uint32_t)off : 0,
		};
		if (i > 0)
			note_fit(p, &ret->link.v[i - 1], &ret->link.v[i]);
		while (ret->ends.n < p->frames.ends.n && p->frames.ends.v[ret->ends.n] == i + 1)
			ret->ends.v[ret->ends.n++] = (uint32_t)(i + 1);
	}
	ret->is_whole = p->frames.is_whole;
	return true;
}

static bool innermost(void *ctx, uint32_t tid, uint64_t *ret)
{
	struct python *p = ctx;
	return interp_python_innermost(p, &p->frame_pages, interp_language_tid(&p->base, tid),
				       ret);
}

static uint32_t frame(void *ctx, uint32_t code, uint32_t off, bool has_line)
{
	return interp_python_frame(ctx, code, off, has_line);
}

void interp_python_set_runtime(struct python *p)
{
	struct interp_runtime *r = &p->base.ops;
	r->has_single_frames = p->program.layout.entry == PYTHON_ENTRY_EACH;
	r->renew = renew;
	r->forget = forget;
	r->use_second = use_second;
	r->frame_pages = &p->frame_pages;
	r->code_of = code_of;
	r->code_of_frame = code_of_frame;
	r->is_shared = is_shared;
	r->line = line;
	r->frames_where = frames_where;
	r->identify = identify;
	r->code_named = code_named;
	r->n_replaced = n_replaced;
	if (p->program.layout.code_names != PYTHON_LAYOUT_NONE) {
		r->trace = trace;
		r->may_call = may_call;
	}
	r->chain = chain;
	r->innermost = innermost;
	r->frame = frame;
	r->label = LABEL_PYTHON_STACK;
	r->lock_label = LABEL_PYTHON_LOCK;
	snprintf(r->name, sizeof(r->name), "python %s", p->program.version);
}
