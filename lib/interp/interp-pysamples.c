/*
 * CPython for samples.  The loop's next instruction is in a place that is read when the sample is
 * taken, and it is at least two bytes after the start of the present one: so the bytes before it
 * belong to the present one, or to its inline caches.
 */

#include "interp/interp-python.h"
#include "interp/interp-python-private.h"

#include "agg/frames.h"
#include "agg/vfuncs.h"
#include "base/host.h"

#include <stdio.h>
#include <stdlib.h>

/* Of a process in one drain. */
#define PAGES_MAX 1024u
#define UNIT 2u
#define UNKNOWN_CALLERS "[callers unknown]"

static uint32_t renew(void *ctx, uint64_t now_ns)
{
	struct interp_python *p = ctx;
	runtime_pages_forget(&p->pages);
	p->pages.n_left = PAGES_MAX;
	pycodes_limit(&p->codes);
	p->codes.now_ns = now_ns;
	if (interp_python_set_dso(p) < 0)
		p->pages.n_left = 0;
	return p->codes.epoch;
}

static void forget(void *ctx)
{
	struct interp_python *p = ctx;
	runtime_pages_forget(&p->pages);
}

static uint32_t code_of(void *ctx, uint64_t instruction, bool is_new, uint32_t *ret_off)
{
	struct interp_python *p = ctx;
	uint32_t code = pycodes_of(&p->codes, instruction, is_new);
	if (code == PYCODES_NONE)
		return INTERP_NO_CODE;
	uint64_t off = instruction - p->codes.v.v[code].start;
	*ret_off = (uint32_t)(off >= UNIT ? off - UNIT : 0);
	return code;
}

static uint32_t code_of_frame(void *ctx, uint64_t at)
{
	struct interp_python *p = ctx;
	uint64_t code;
	return at % 8 == 0 && python_frames_code(&p->program, &p->pages, at, &code)
		       ? pycodes_at(&p->codes, code) : INTERP_NO_CODE;
}

static bool is_shared(void *ctx, uint32_t code, uint32_t other)
{
	const struct interp_python *p = ctx;
	return code == other || (p->program.layout.has_object_code &&
				 p->codes.v.v[code].start == p->codes.v.v[other].start);
}

static bool is_same_line(void *ctx, uint32_t code, uint32_t off, uint32_t other)
{
	const struct interp_python *p = ctx;
	enum python_lines_format format = (enum python_lines_format)p->program.layout.lines;
	const struct python_lines *lines = &p->codes.v.v[code].lines;
	return python_lines_find(format, lines, off) == python_lines_find(format, lines, other);
}

static bool chain(void *ctx, uint64_t at, struct interp_chain *ret)
{
	struct interp_python *p = ctx;
	ret->link.n = ret->ends.n = 0;
	ret->is_whole = false;
	if (!python_frames_read(&p->program, &p->pages, at, &p->frames) || !p->frames.frames.n ||
	    !VEC_RESERVE(&ret->link, p->frames.frames.n) ||
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
		while (ret->ends.n < p->frames.ends.n && p->frames.ends.v[ret->ends.n] == i + 1)
			ret->ends.v[ret->ends.n++] = (uint32_t)(i + 1);
	}
	ret->is_whole = p->frames.is_whole;
	return true;
}

static bool innermost(void *ctx, uint32_t tid, uint64_t *ret)
{
	struct interp_python *p = ctx;
	return interp_python_innermost(p, p->is_other_namespace ?
				       host_own_tid(p->t.host, p->pid, tid) : tid, ret);
}

static uint32_t frame(void *ctx, uint32_t code, uint32_t off, bool has_line)
{
	return interp_python_frame(ctx, code, off, has_line);
}

static uint32_t unknown(void *ctx)
{
	struct interp_python *p = ctx;
	uint32_t function = vfuncs_add(p->t.vfuncs, UNKNOWN_CALLERS, "", 0);
	return function == VFUNCS_NONE ? FRAMES_NONE :
		frames_add(p->t.frames, p->dso, vfuncs_vaddr(function, 0), false);
}

const struct interp_runtime *interp_python_runtime(struct interp_python *p)
{
	if (p->runtime.ctx)
		return &p->runtime;
	p->runtime = (struct interp_runtime){
		.ctx = p, .has_single_frames = p->program.layout.entry == PYTHON_ENTRY_EACH,
		.renew = renew, .forget = forget, .code_of = code_of,
		.code_of_frame = code_of_frame, .is_shared = is_shared,
		.is_same_line = is_same_line, .chain = chain, .innermost = innermost,
		.frame = frame, .unknown = unknown,
	};
	snprintf(p->runtime.name, sizeof(p->runtime.name), "python %s", p->program.version);
	return &p->runtime;
}
