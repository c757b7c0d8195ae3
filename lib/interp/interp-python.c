#include "interp/interp-python.h"
#include "interp/interp-python-private.h"

#include "agg/frames.h"
#include "agg/vfuncs.h"
#include "base/err.h"
#include "base/host.h"
#include "base/path.h"
#include "base/remotemem.h"
#include "proc/procs.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/python-glue.h"
#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/python-threads.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"
#include "symbolize/runtime/runtime-symbols.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one process, at most: a second's work. */
#define PAGES_MAX (1u << 18)

/* ---- programs ------------------------------------------------------------------------------ */

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct interp_python *p = ctx;
	long r = remotemem_read(p->t.host->memory, p->tid, local, n_local, remote, n_remote);
	if (r < 0 && r != -EFAULT)
		p->code = (int)r;
	return r;
}

/* A program, or a library named like CPython's.  Its extensions are also named so. */
static bool may_be_python(const struct procs_process *p, const struct dso *d)
{
	const char *base = d->path ? path_base_name(d->path) : "";
	return d->is_elf && dsokeep_has_file(d) &&
	       (d->id == p->exe || (strstr(base, "python") && !strstr(base, ".cpython-")));
}

#define ANY_SIZE .max_bytes = UINT64_MAX

static bool open_file(const struct dso *d, struct python_places *ret)
{
	struct runtime_symbol s[] = {
		{ .name = "_PyRuntime", ANY_SIZE }, { .name = "PyCode_Type", ANY_SIZE },
		{ .name = "_PyEval_EvalFrameDefault", ANY_SIZE, .is_function = true },
		{ .name = "Py_Version", ANY_SIZE },
	};
	struct cfi *c;
	if (cfi_open_dso(d, &c) < 0)
		return false;
	runtime_symbols_find(c, RUNTIME_SYMBOLS_DYNAMIC, s, sizeof(s) / sizeof(*s));
	*ret = (struct python_places){
		.path = d->path, .cfi = c, .runtime = s[0].vaddr, .code_type = s[1].vaddr,
		.loop = s[2].vaddr, .n_loop_bytes = s[2].n_bytes, .version = s[3].vaddr,
	};
	if (ret->runtime && ret->code_type)
		return true;
	cfi_close(c);
	return false;
}

/* The file with CPython, which is opened, and where it is mapped; NULL: there is none. */
static const struct dso *find_file(const struct interp_tables *t, const struct procs_process *p,
				   struct python_places *ret, uint64_t *ret_start)
{
	for (size_t i = 0; i < p->space.map.n; i++) {
		const struct procs_map *m = &p->space.map.v[i];
		struct dso *d = dso_get(t->dsos, m->dso);
		uint64_t vaddr;
		if (d->is_plain || !may_be_python(p, d) || !dso_vaddr(d, m->pgoff, &vaddr))
			continue;
		d->is_plain = !open_file(d, ret);
		if (d->is_plain)
			continue;
		ret->bias = m->start - vaddr;
		*ret_start = m->start;
		return d;
	}
	return NULL;
}

static int explain(enum python_program_result r, const struct interp_python *p, struct err *e)
{
	const char *version = p->program.version;
	switch (r) {
	case PYTHON_PROGRAM_OK:
		return 0;
	case PYTHON_PROGRAM_UNREADABLE:
		if (p->code == -EPERM)
			return err_set(e, EPERM, "its memory may not be read: this needs the same "
				       "user, or CAP_SYS_PTRACE, and "
				       "kernel.yama.ptrace_scope 0");
		if (p->code == -ETIMEDOUT)
			return err_set(e, ETIMEDOUT, "its memory does not answer");
		return err_set(e, ESRCH, "it has ended");
	case PYTHON_PROGRAM_FREE_THREADED:
		return err_set(e, ENOTSUP, "Python %s without GIL is not supported", version);
	case PYTHON_PROGRAM_UNSUPPORTED:
		break;
	}
	return err_set(e, ENOTSUP, "Python %s is not supported; 3.8 to 3.%u are",
		       *version ? version : "of an unknown version", PYTHON_LAYOUT_NEWEST);
}

/* It may have been collected since it was used last. */
int interp_python_set_dso(struct interp_python *p)
{
	char name[64];
	const struct dso_key key = { .kind = DSO_RUNTIME };
	snprintf(name, sizeof(name), "[python %s]", p->program.version);
	struct dso *d = dso_table_find(p->t.dsos, &key, name);
	if (!d)
		d = dso_table_add(p->t.dsos, &key, name);
	p->dso = d ? d->id : 0;
	return d ? 0 : -ENOMEM;
}

static bool is_loop(void *ctx, uint64_t vaddr)
{
	const struct interp_python *p = ctx;
	return python_program_is_loop(&p->program, vaddr);
}

static bool is_glue(void *ctx, uint64_t vaddr)
{
	struct interp_python *p = ctx;
	const char *name;
	return p->has_elf && (!symelf_find(&p->elf, vaddr, &name) || python_glue_is(name));
}

static int open_program(struct interp_python *p, const struct procs_process *process,
			struct err *e)
{
	struct python_places places;
	const struct dso *d = find_file(&p->t, process, &places, &p->start);
	if (!d)
		return -ENOENT;
	p->cfi = places.cfi;
	places.memory = &p->memory;
	int r = explain(python_program_open(&places, &p->program), p, e);
	if (r < 0)
		return r;
	if (!p->program.n_parts)
		return err_set(e, ENOTSUP, "its interpreter has no symbol "
			       "_PyEval_EvalFrameDefault");
	static const struct symdebug_place no_debug_files = { .host = NULL };
	p->has_elf = symelf_open(&p->elf, d, &no_debug_files) == 0;
	p->interp = (struct interp_code){
		.dso = d->id, .bias = places.bias, .ctx = p, .is_loop = is_loop,
		.is_glue = is_glue,
	};
	p->codes.code_type = p->program.code_type;
	p->codes.layout = &p->program.layout;
	/* what is needed of the file is read now: d may be forgotten later */
	is_glue(p, places.loop);
	cfi_close(p->cfi);
	p->cfi = NULL;
	return interp_python_set_dso(p) < 0 ? err_errno(e, ENOMEM, "no memory") : 0;
}

int interp_python_open(const struct interp_tables *t, const struct procs_process *process,
		       struct interp_python **ret, struct err *e)
{
	struct interp_python *p = malloc(sizeof(*p));
	if (!p)
		return err_errno(e, ENOMEM, "no memory");
	*p = (struct interp_python){
		.t = *t, .pid = process->pid, .tid = host_live_thread(t->host, process->pid),
		.memory = { .read = read_memory, .ctx = p },
	};
	runtime_pages_init(&p->pages, &p->memory, PAGES_MAX);
	p->codes.pages = &p->pages;
	p->codes.vfuncs = t->vfuncs;
	int r = open_program(p, process, e);
	if (r < 0) {
		interp_python_close(p);
		return r;
	}
	p->is_other_namespace = host_own_tid(t->host, p->pid, p->tid) != p->tid;
	*ret = p;
	return 0;
}

void interp_python_close(struct interp_python *p)
{
	if (!p)
		return;
	pycodes_done(&p->codes);
	VEC_FREE(&p->threads.v);
	python_frames_done(&p->frames);
	runtime_pages_done(&p->pages);
	if (p->has_elf)
		symelf_close(&p->elf);
	cfi_close(p->cfi);
	free(p);
}

bool interp_python_fits(const struct interp_python *p, struct procs_process *process)
{
	const struct procs_map *m = procs_space_find(&process->space, p->start);
	return m && m->dso == p->interp.dso && m->start == p->start;
}

void interp_python_allow(struct interp_python *p, uint64_t n_pages)
{
	p->pages.n_left = n_pages;
}

const char *interp_python_version(const struct interp_python *p)
{
	return p->program.version;
}

const struct interp_code *interp_python_code(const struct interp_python *p)
{
	return &p->interp;
}

/* ---- functions ----------------------------------------------------------------------------- */

uint32_t interp_python_frame(struct interp_python *p, uint32_t code, int64_t off, bool has_line)
{
	const struct pycode *c = &p->codes.v.v[code];
	if (c->function == VFUNCS_NONE)
		return FRAMES_NONE;
	uint32_t line = has_line ? python_lines_find(
		(enum python_lines_format)p->program.layout.lines, &c->lines, off) : 0;
	return frames_add(p->t.frames, p->dso, vfuncs_vaddr(c->function, line), false);
}

static bool add_frame(struct interp_python *p, const struct python_frame *f,
		      struct interp_frames *ret)
{
	uint32_t code = pycodes_at(&p->codes, f->code);
	uint32_t frame = code == PYCODES_NONE ? FRAMES_NONE :
						interp_python_frame(p, code, f->off, true);
	return frame != FRAMES_NONE && VEC_PUSH(&ret->frames, frame);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* The innermost frame of a thread; 0: it has none.  The list is read again when it lacks the
 * thread, which may have begun since.  False: it is unknown. */
bool interp_python_innermost(struct interp_python *p, uint32_t tid, uint64_t *ret)
{
	const struct python_thread *t = python_threads_find(&p->threads, tid);
	*ret = 0;
	if (t && python_threads_frame(&p->program, &p->pages, t, ret))
		return true;
	bool is_whole = python_threads_read(&p->program, &p->pages, &p->threads);
	t = python_threads_find(&p->threads, tid);
	return t ? python_threads_frame(&p->program, &p->pages, t, ret) : is_whole;
}

bool interp_python_read(struct interp_python *p, uint32_t tid, struct interp_frames *ret)
{
	uint32_t inner = p->is_other_namespace ? host_own_tid(p->t.host, p->pid, tid) : tid;
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = true;
	runtime_pages_forget(&p->pages);
	pycodes_limit(&p->codes);
	p->codes.now_ns = 0;
	if (interp_python_set_dso(p) < 0)
		return false;
	uint64_t at;
	if (!interp_python_innermost(p, inner, &at) ||
	    !python_frames_read(&p->program, &p->pages, at, &p->frames))
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
