#include "interp/interp-process.h"

#include "agg/frames.h"
#include "agg/vfuncs.h"
#include "base/err.h"
#include "base/host.h"
#include "base/path.h"
#include "base/remotemem.h"
#include "interp/activations.h"
#include "interp/interp-language.h"
#include "proc/memoryrights.h"
#include "proc/procs.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one process, at most: a second's work. */
#define PAGES_MAX (1u << 18)
/* In one drain. */
#define DRAIN_PAGES_MAX 1024u

#define UNKNOWN_CALLERS "[callers unknown]"

static const struct interp_language *const languages[] = {
	&interp_python, &interp_php, &interp_ruby,
};

#define LANGUAGES (sizeof(languages) / sizeof(*languages))
#define SYMBOLS_MAX (LANGUAGES * INTERP_LANGUAGE_SYMBOLS_MAX)

/* ---- files --------------------------------------------------------------------------------- */

/* A program, or a library that is named like the interpreter. */
static bool may_be(const struct interp_language *l, const struct procs_process *p,
		   const struct dso *d)
{
	const char *base = d->path ? path_base_name(d->path) : "";
	return d->id == p->exe || (strstr(base, l->name) && !(l->other && strstr(base, l->other)));
}

/* A set of bits. */
static uint32_t languages_of(const struct procs_process *p, const struct dso *d)
{
	uint32_t ret = 0;
	for (size_t i = 0; i < LANGUAGES; i++)
		ret |= (uint32_t)may_be(languages[i], p, d) << i;
	return ret;
}

static bool may_be_any(const struct procs_process *p, const struct dso *d)
{
	return d->is_elf && dsokeep_has_file(d) && languages_of(p, d);
}

/* All symbols are looked up at once, since that reads the whole table. */
static void find_symbols(struct cfi *c, struct runtime_symbol symbol[SYMBOLS_MAX])
{
	for (size_t i = 0; i < SYMBOLS_MAX; i++) {
		const struct interp_language *l = languages[i / INTERP_LANGUAGE_SYMBOLS_MAX];
		size_t k = i % INTERP_LANGUAGE_SYMBOLS_MAX;
		const char *name = l->symbol[k].name;
		symbol[i] = (struct runtime_symbol){
			.name = name ? name : "", .is_function = l->symbol[k].is_function,
			.min_bytes = name ? 0 : UINT64_MAX, .max_bytes = UINT64_MAX,
		};
	}
	runtime_symbols_find(c, RUNTIME_SYMBOLS_DYNAMIC, symbol, SYMBOLS_MAX);
}

static bool has_symbols(const struct interp_language *l, const struct runtime_symbol *symbol)
{
	for (size_t k = 0; k < INTERP_LANGUAGE_SYMBOLS_MAX; k++)
		if (l->symbol[k].is_needed && !symbol[k].vaddr)
			return false;
	return true;
}

struct place {
	struct interp_place at;
	uint64_t start;                 /* of the mapping */
};

static struct interp_file *new_file(struct interp_files *files, const struct dso *d,
				    uint32_t possible, struct cfi *c)
{
	struct runtime_symbol symbol[SYMBOLS_MAX];
	find_symbols(c, symbol);
	for (size_t i = 0; i < LANGUAGES; i++) {
		const struct runtime_symbol *of = symbol + i * INTERP_LANGUAGE_SYMBOLS_MAX;
		if (possible >> i & 1 && has_symbols(languages[i], of))
			return interp_files_add(files, d, possible, languages[i], of);
	}
	return NULL;
}

static bool open_file(const struct interp_tables *t, const struct procs_process *p,
		      const struct dso *d, struct interp_place *ret)
{
	ret->dso = d;
	uint32_t possible = languages_of(p, d);
	ret->file = interp_files_take(t->files, d, possible);
	if (!ret->file && interp_language_cfi(ret))
		ret->file = new_file(t->files, d, possible, ret->cfi);
	if (ret->file) {
		ret->symbol = ret->file->symbol;
		return true;
	}
	cfi_close(ret->cfi);
	ret->cfi = NULL;
	return false;
}

/* The file with an interpreter, which is opened, and where it is mapped.  False: there is none. */
static bool find_file(const struct interp_tables *t, const struct procs_process *p,
		      struct place *ret)
{
	for (size_t i = 0; i < p->space.map.n; i++) {
		const struct procs_map *m = &p->space.map.v[i];
		struct dso *d = dso_get(t->dsos, m->dso);
		uint64_t vaddr;
		if (d->is_plain || !may_be_any(p, d) || !dso_vaddr(d, m->pgoff, &vaddr))
			continue;
		d->is_plain = !open_file(t, p, d, &ret->at);
		if (d->is_plain)
			continue;
		ret->at.bias = m->start - vaddr;
		ret->start = m->start;
		return true;
	}
	return false;
}

/* ---- processes ----------------------------------------------------------------------------- */

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct interp_process *p = ctx;
	long r = remotemem_read(p->t.host->memory, p->tid, local, n_local, remote, n_remote);
	if (r < 0 && r != -EFAULT)
		p->code = (int)r;
	return r;
}

static void init(struct interp_process *p, const struct interp_tables *t, uint32_t pid,
		 const struct place *from)
{
	struct host_live live;
	host_find_live(t->host, pid, &live);
	*p = (struct interp_process){
		.language = from->at.file->language, .t = *t, .pid = pid,
		.tid = live.tid, .uid = live.uid, .start = from->start,
		.is_other_namespace = live.own_tid != live.tid,
		.file = from->at.file,
		.memory = { .read = read_memory, .ctx = p },
		.interp = { .dso = from->at.dso->id, .bias = from->at.bias, .ctx = p },
		.ops = {
			.ctx = p, .unknown = interp_language_unknown,
			.instruction_place = ACTIVATION_NO_PLACE,
			.frame_place = ACTIVATION_NO_PLACE,
		},
	};
	runtime_pages_init(&p->pages, &p->memory, PAGES_MAX);
}

static int open_language(struct interp_process *p, struct interp_place *at, struct err *e)
{
	int r = p->language->open(p, at, e);
	if (r < 0)
		return r;
	/* what is needed of the file is read now: its DSO may be forgotten later */
	p->interp.is_glue(p, at->dso->id);
	return interp_language_set_dso(p) < 0 ? err_errno(e, ENOMEM, "no memory") : 0;
}

int interp_process_open(const struct interp_tables *t, const struct procs_process *process,
			struct interp_process **ret, struct err *e)
{
	struct place from = { .start = 0 };
	if (!find_file(t, process, &from))
		return -ENOENT;
	struct interp_process *p = calloc(1, from.at.file->language->n_bytes);
	int r = p ? 0 : err_errno(e, ENOMEM, "no memory");
	if (p) {
		init(p, t, process->pid, &from);
		r = open_language(p, &from.at, e);
	} else {
		interp_file_release(from.at.file);
	}
	cfi_close(from.at.cfi);
	if (r == 0)
		*ret = p;
	else
		interp_process_close(p);
	return r;
}

void interp_process_close(struct interp_process *p)
{
	if (!p)
		return;
	p->language->close(p);
	runtime_pages_done(&p->pages);
	interp_file_release(p->file);
	free(p);
}

bool interp_process_fits(const struct interp_process *p, struct procs_process *process)
{
	const struct procs_map *m = procs_space_find(&process->space, p->start);
	return m && m->dso == p->interp.dso && m->start == p->start;
}

void interp_process_allow(struct interp_process *p, uint64_t n_pages)
{
	p->pages.n_left = n_pages;
}

const char *interp_process_name(const struct interp_process *p)
{
	return p->ops.name;
}

uint32_t interp_process_file(const struct interp_process *p)
{
	return p->file->serial;
}

const char *interp_process_saved_name(const struct interp_process *p)
{
	return p->file->saved_name;
}

uint32_t interp_process_uid(const struct interp_process *p)
{
	return p->uid;
}

const struct interp_code *interp_process_code(const struct interp_process *p)
{
	return &p->interp;
}

const struct interp_runtime *interp_process_runtime(const struct interp_process *p)
{
	return &p->ops;
}

bool interp_process_read(struct interp_process *p, uint32_t tid, struct interp_frames *ret)
{
	ret->frames.n = ret->ends.n = 0;
	ret->is_whole = true;
	runtime_pages_forget(&p->pages);
	return interp_language_set_dso(p) == 0 &&
	       p->language->read(p, interp_language_tid(p, tid), ret);
}

/* ---- for languages ------------------------------------------------------------------------- */

struct cfi *interp_language_cfi(struct interp_place *at)
{
	if (!at->cfi && cfi_open_dso(at->dso, &at->cfi) < 0)
		at->cfi = NULL;
	return at->cfi;
}

int interp_language_unreadable(const struct interp_process *p, struct err *e)
{
	if (p->code == -EPERM)
		return memoryrights_explain(p->t.host, p->pid, e);
	if (p->code == -ETIMEDOUT)
		return err_set(e, ETIMEDOUT, "its memory does not answer");
	return err_set(e, ESRCH, "it has ended");
}

uint32_t interp_language_tid(const struct interp_process *p, uint32_t tid)
{
	return p->is_other_namespace ? host_own_tid(p->t.host, p->pid, tid) : tid;
}

int interp_language_set_dso(struct interp_process *p)
{
	char name[sizeof(p->ops.name) + 2];
	const struct dso_key key = { .kind = DSO_RUNTIME };
	struct dso *d = p->dso_serial ? dso_get(p->t.dsos, p->dso) : NULL;
	if (d && d->serial == p->dso_serial)
		return 0;
	snprintf(name, sizeof(name), "[%s]", p->ops.name);
	d = dso_table_find(p->t.dsos, &key, name);
	if (!d)
		d = dso_table_add(p->t.dsos, &key, name);
	p->dso = d ? d->id : 0;
	p->dso_serial = d ? d->serial : 0;
	return d ? 0 : -ENOMEM;
}

uint32_t interp_language_frame(const struct interp_process *p, uint32_t function, uint32_t line)
{
	return function == VFUNCS_NONE ? FRAMES_NONE :
		frames_add(p->t.frames, p->dso, vfuncs_vaddr(function, line), false);
}

uint32_t interp_language_unknown(void *ctx)
{
	const struct interp_process *p = ctx;
	return interp_language_frame(p, vfuncs_add(p->t.vfuncs, UNKNOWN_CALLERS, "", 0), 0);
}

bool interp_language_is_glue(struct interp_process *p, uint64_t vaddr,
			     bool (*is_name)(const char *name))
{
	return interp_file_is_glue(p->file, vaddr, is_name);
}

void interp_language_renew(struct interp_process *p)
{
	runtime_pages_forget(&p->pages);
	p->pages.n_left = DRAIN_PAGES_MAX;
	if (interp_language_set_dso(p) < 0)
		p->pages.n_left = 0;
}
