/*
 * Code objects are known by their addresses.  Another one may take such an address, so the fields
 * that identify it are compared each time.
 */

#include "interp/interp-python.h"

#include "agg/frames.h"
#include "agg/vfuncs.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/hashindex.h"
#include "base/host.h"
#include "base/path.h"
#include "base/remotemem.h"
#include "proc/procs.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/python-code.h"
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

/* A program that makes functions all the time has new ones at new addresses. */
#define CODES_MAX 50000u

/* A code object whose name is known. */
struct code {
	uint64_t at;
	struct python_code_key key;
	uint32_t function;              /* VFUNCS_NONE: it cannot be read */
	struct python_lines lines;
};

struct interp_python {
	struct interp_tables t;
	uint32_t tid;                   /* a living thread of the process */
	uint32_t pid, dso;              /* of its functions */
	uint64_t start;                 /* of the mapping of its file */
	int code;                       /* why memory could not be read, -errno; 0: it could */
	struct cfi *cfi;                /* NULL after interp_python_open */
	struct symelf elf;              /* names of native functions */
	bool has_elf, is_other_namespace;
	struct runtime_memory memory;
	struct runtime_pages pages;
	struct python_program program;
	struct python_threads threads;
	struct python_frames frames;    /* of the present thread */
	VEC(struct code) codes;
	struct hashindex by_address;
	struct interp_code interp;
};

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
		const struct dso *d = dso_get(t->dsos, m->dso);
		uint64_t vaddr;
		if (!may_be_python(p, d) || !dso_vaddr(d, m->pgoff, &vaddr) || !open_file(d, ret))
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
static int set_dso(struct interp_python *p)
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
		.dso = d->id, .ctx = p, .is_loop = is_loop, .is_glue = is_glue,
	};
	/* what is needed of the file is read now: d may be forgotten later */
	is_glue(p, places.loop);
	cfi_close(p->cfi);
	p->cfi = NULL;
	return set_dso(p) < 0 ? err_errno(e, ENOMEM, "no memory") : 0;
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
	int r = open_program(p, process, e);
	if (r < 0) {
		interp_python_close(p);
		return r;
	}
	p->is_other_namespace = host_own_tid(t->host, p->pid, p->tid) != p->tid;
	*ret = p;
	return 0;
}

static void forget_codes(struct interp_python *p)
{
	for (size_t i = 0; i < p->codes.n; i++)
		python_lines_done(&p->codes.v[i].lines);
	VEC_FREE(&p->codes);
	hashindex_done(&p->by_address);
}

void interp_python_close(struct interp_python *p)
{
	if (!p)
		return;
	forget_codes(p);
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

/* The name that CPython's own map for perf gives to a function. */
#define NAME_PREFIX "py::"

static void read_code(struct interp_python *p, struct code *c)
{
	struct python_code code;
	char name[sizeof(NAME_PREFIX) + sizeof(code.name)];
	python_lines_done(&c->lines);
	c->function = VFUNCS_NONE;
	if (!python_code_read(&p->pages, &p->program.layout, p->program.code_type, c->at, &code))
		return;
	snprintf(name, sizeof(name), NAME_PREFIX "%s", code.name);
	c->function = vfuncs_add(p->t.vfuncs, name, code.file, code.lines.first);
	c->lines = code.lines;
}

static bool is_same(const struct python_code_key *a, const struct python_code_key *b)
{
	return a->name == b->name && a->file == b->file && a->lines == b->lines &&
	       a->n_bytes == b->n_bytes && a->first_line == b->first_line;
}

/* NULL: there is no code object at that address, or no memory. */
static const struct code *code_at(struct interp_python *p, uint64_t at)
{
	uint64_t hash = hash_u64(at);
	struct python_code_key key;
	if (!python_code_key(&p->pages, &p->program.layout, p->program.code_type, at, &key))
		return NULL;
	uint32_t i = HASHINDEX_FIND(&p->by_address, hash, k, p->codes.v[k].at == at);
	if (i != HASHINDEX_NONE && is_same(&p->codes.v[i].key, &key))
		return &p->codes.v[i];
	if (i == HASHINDEX_NONE) {
		if (!hashindex_reserve(&p->by_address, false) ||
		    !VEC_PUSH(&p->codes, ((struct code){ .at = at })))
			return NULL;
		i = (uint32_t)p->codes.n - 1;
		hashindex_put(&p->by_address, hash, i);
	}
	p->codes.v[i].key = key;
	read_code(p, &p->codes.v[i]);
	return &p->codes.v[i];
}

static bool add_frame(struct interp_python *p, const struct python_frame *f,
		      struct interp_frames *ret)
{
	const struct code *c = code_at(p, f->code);
	if (!c || c->function == VFUNCS_NONE)
		return false;
	uint32_t line = python_lines_find(
		(enum python_lines_format)p->program.layout.lines, &c->lines, f->off);
	uint32_t frame = frames_add(p->t.frames, p->dso, vfuncs_vaddr(c->function, line), false);
	return frame != FRAMES_NONE && VEC_PUSH(&ret->frames, frame);
}

/* ---- threads ------------------------------------------------------------------------------- */

/* The innermost frame of a thread; 0: it has none.  The list is read again when it lacks the
 * thread, which may have begun since.  False: it is unknown. */
static bool find_frame(struct interp_python *p, uint32_t tid, uint64_t *ret)
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
	if (p->codes.n > CODES_MAX)
		forget_codes(p);
	if (set_dso(p) < 0)
		return false;
	uint64_t at;
	if (!find_frame(p, inner, &at) ||
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
