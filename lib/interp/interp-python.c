/* The Python functions of a process. */

#include "interp/interp-python-private.h"

#include "agg/frames.h"
#include "agg/vfuncs.h"
#include "base/err.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/python-glue.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	SYMBOL_RUNTIME, SYMBOL_CODE_TYPE, SYMBOL_BYTES_TYPE, SYMBOL_LOOP, SYMBOL_VERSION,
	SYMBOL_RESTORE,
};

/* ---- programs ------------------------------------------------------------------------------ */

static bool is_loop(void *ctx, uint64_t vaddr)
{
	const struct python *p = ctx;
	return runtime_loop_has(&p->program.code.loop, vaddr);
}

static bool is_glue(void *ctx, uint64_t vaddr)
{
	return interp_language_is_glue(ctx, vaddr, python_glue_is);
}

static bool is_lock_wait(void *ctx, uint64_t vaddr)
{
	const struct python *p = ctx;
	const struct runtime_range *take_lock = &p->program.code.take_lock;
	return vaddr >= take_lock->start && vaddr < take_lock->end;
}

static int explain(enum python_program_result r, const struct python *p, struct err *e)
{
	const char *version = p->program.version;
	switch (r) {
	case PYTHON_PROGRAM_OK:
		return 0;
	case PYTHON_PROGRAM_UNREADABLE:
		return interp_language_unreadable(&p->base, e);
	case PYTHON_PROGRAM_FREE_THREADED:
		return err_set(e, ENOTSUP, "Python %s without GIL is not supported", version);
	case PYTHON_PROGRAM_UNSUPPORTED:
		break;
	}
	return err_set(e, ENOTSUP, "Python %s is not supported; 3.8 to 3.%u are",
		       *version ? version : "of an unknown version", PYTHON_LAYOUT_NEWEST);
}

static void keep_code(struct interp_file *file, const struct python_loop_code *code)
{
	struct python_loop_code *kept = file->of_language ? NULL : malloc(sizeof(*kept));
	if (!kept)
		return;
	*kept = *code;
	file->of_language = kept;
}

static int open_python(struct interp_process *base, struct interp_place *at, struct err *e)
{
	struct python *p = (struct python *)base;
	const struct python_loop_code *code = at->file->of_language;
	struct cfi *cfi = code ? NULL : interp_language_cfi(at);
	if (!code && !cfi)
		return err_errno(e, EIO, "its file cannot be read");
	const struct runtime_symbol *s = at->symbol;
	const struct python_places places = {
		.path = at->dso->path, .cfi = cfi, .code = code, .memory = &base->memory,
		.bias = at->bias,
		.runtime = s[SYMBOL_RUNTIME].vaddr, .code_type = s[SYMBOL_CODE_TYPE].vaddr,
		.bytes_type = s[SYMBOL_BYTES_TYPE].vaddr,
		.loop = s[SYMBOL_LOOP].vaddr, .n_loop_bytes = s[SYMBOL_LOOP].n_bytes,
		.version = s[SYMBOL_VERSION].vaddr,
		.restore = s[SYMBOL_RESTORE].vaddr, .n_restore_bytes = s[SYMBOL_RESTORE].n_bytes,
	};
	int r = explain(python_program_open(&places, &p->program), p, e);
	if (r < 0)
		return r;
	if (!p->program.code.loop.n)
		return err_set(e, ENOTSUP, "its interpreter has no symbol "
			       "_PyEval_EvalFrameDefault");
	keep_code(at->file, &p->program.code);
	base->interp.is_loop = is_loop;
	base->interp.is_glue = is_glue;
	base->interp.is_lock_wait = is_lock_wait;
	runtime_pages_init(&p->frame_pages, &base->memory, 0);
	p->codes.pages = &base->pages;
	p->codes.vfuncs = base->t.vfuncs;
	p->codes.code_type = p->program.code_type;
	p->codes.bytes_type = p->program.bytes_type;
	p->codes.layout = &p->program.layout;
	interp_python_set_runtime(p);
	return 0;
}

static void close_python(struct interp_process *base)
{
	struct python *p = (struct python *)base;
	pycodes_done(&p->codes);
	VEC_FREE(&p->threads.v);
	python_frames_done(&p->frames);
	runtime_pages_done(&p->frame_pages);
}

/* ---- functions ----------------------------------------------------------------------------- */

uint32_t interp_python_frame(struct python *p, uint32_t code, int64_t off, bool has_line)
{
	uint32_t line = 0;
	if (has_line && off < UINT32_MAX)
		line = pycodes_line(&p->codes, code, off > 0 ? (uint32_t)off : 0);
	return interp_language_frame(&p->base, p->codes.v.v[code].function, line);
}

static bool add_frame(struct python *p, const struct python_frame *f, struct interp_frames *ret)
{
	uint32_t code = pycodes_at(&p->codes, f->code);
	uint32_t frame = code == PYCODES_NONE ? FRAMES_NONE :
						interp_python_frame(p, code, f->off, true);
	return frame != FRAMES_NONE && VEC_PUSH(&ret->frames, frame);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* The innermost frame of a thread; 0: it has none.  The list is read again when it lacks the
 * thread, which may have begun since.  False: it is unknown. */
bool interp_python_innermost(struct python *p, struct runtime_pages *pages, uint32_t tid,
			     uint64_t *ret)
{
	const struct python_thread *t = python_threads_find(&p->threads, tid);
	*ret = 0;
	if (t && python_threads_frame(&p->program, pages, t, ret))
		return true;
	bool is_whole = python_threads_read(&p->program, pages, &p->threads);
	t = python_threads_find(&p->threads, tid);
	return t ? python_threads_frame(&p->program, pages, t, ret) : is_whole;
}

static bool read_thread(struct interp_process *base, uint32_t tid, struct interp_frames *ret)
{
	struct python *p = (struct python *)base;
	uint64_t at;
	pycodes_limit(&p->codes);
	p->codes.now_ns = 0;
	if (!interp_python_innermost(p, &base->pages, tid, &at) ||
	    !python_frames_read(&p->program, &base->pages, at, &p->frames))
		return false;
	for (size_t i = 0; i < p->frames.frames.n; i++)
		if (!add_frame(p, &p->frames.frames.v[i], ret))
			return false;
	for (size_t i = 0; i < p->frames.ends.n; i++)
		if (!VEC_PUSH(&ret->ends, p->frames.ends.v[i]))
			return false;
	ret->is_whole = p->frames.is_whole;
	return true;
}

/* CPython's extensions are also named like it. */
const struct interp_language interp_python = {
	.name = "python", .other = ".cpython-",
	.symbol = {
		[SYMBOL_RUNTIME] = { "_PyRuntime", .is_needed = true },
		[SYMBOL_CODE_TYPE] = { "PyCode_Type", .is_needed = true },
		[SYMBOL_BYTES_TYPE] = { "PyBytes_Type", .is_needed = true },
		[SYMBOL_LOOP] = { "_PyEval_EvalFrameDefault", .is_function = true },
		[SYMBOL_VERSION] = { "Py_Version" },
		[SYMBOL_RESTORE] = { "PyEval_RestoreThread", .is_function = true },
	},
	.n_bytes = sizeof(struct python),
	.open = open_python, .close = close_python, .read = read_thread,
};
