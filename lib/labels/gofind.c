/*
 * The function that changes labels is linked only if something in the program can call it.  It is a
 * part of the package runtime, which comes early in the table of functions.
 *
 * Of the two functions that newproc1 calls with the new goroutine, gostartcallfn is called by
 * nobody else, but may be inlined.
 */
#include "labels/gofind.h"

#include "proc/procs-space.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/go-program.h"
#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-memory.h"

#define FILES_MAX 1024u
/* Since Go 1.18 arguments are in registers on arm64, too; on x86-64 they are since 1.17. */
#define GO_ARM64_REGISTERS 18u

static const char *const names[] = {
	"runtime/pprof.runtime_setProfLabel", "runtime/pprof.Do", "runtime.goexit",
	"runtime.newproc1", "runtime.gostartcallfn", "runtime.isSystemGoroutine",
};
#define N_NAMES (sizeof(names) / sizeof(*names))
#define GO_G_SCHED 56u             /* of g.sched, in all versions */

void gofind_done(struct gofind *f)
{
	VEC_FREE(&f->file);
}

static const struct gofind_file *known(const struct gofind *f, uint32_t serial)
{
	for (size_t i = 0; i < f->file.n; i++)
		if (f->file.v[i].serial == serial)
			return &f->file.v[i];
	return NULL;
}

/* Has it mapped a file of Go's linker that may matter? */
static bool may_have(const struct gofind *f, const struct dso_table *dsos,
		     const struct procs_space *space, bool all)
{
	for (uint32_t i = 0; i < space->map.n; i++) {
		const struct dso *d = dso_get(dsos, space->map.v[i].dso);
		const struct gofind_file *file = d->is_go ? known(f, d->serial) : NULL;
		if (d->is_go && (all || !file || file->change_vaddr))
			return true;
	}
	return false;
}

/* Where goroutines are created: the functions of names from newproc1 on. */
static struct gobirth_code births(const struct goprocess *x, const uint64_t *at)
{
	uint64_t bias = x->places.bias;
	struct go_table_function newproc1;
	bool has_start = at[1] != 0;
	if (x->cfi->arch != &arch_x86_64 || !at[0] || (!has_start && !at[2]) ||
	    !go_table_find(x->places.table, at[0] - bias, &newproc1))
		return (struct gobirth_code){ .at = 0 };
	return (struct gobirth_code){
		.at = (has_start ? at[1] : at[2]) - bias,
		.g_offset = has_start ? GO_G_SCHED : 0,
		.newproc1 = newproc1.start, .newproc1_end = newproc1.end,
	};
}

static struct gofind_file search(const struct goprocess *x)
{
	uint64_t at[N_NAMES], bias = x->places.bias;
	struct go_table_function f;
	struct gofind_file file = { .serial = x->dso->serial };
	go_places_functions(&x->places, names, at, N_NAMES);
	file.change_vaddr = at[0] ? at[0] - bias : 0;
	file.goexit_vaddr = at[2] ? at[2] - bias : 0;
	if (at[1] && go_table_find(x->places.table, at[1] - bias, &f)) {
		file.do_vaddr = f.start;
		file.do_end = f.end;
	}
	file.birth = births(x, at + 3);
	return file;
}

/* Without it creations are not reported. */
static void find_creator(struct gofind_program *p)
{
	uint8_t code[GOBIRTH_CODE_BYTES];
	struct gobirth_code *b = &p->birth;
	uint64_t n_bytes = b->newproc1_end - b->newproc1;
	n_bytes = n_bytes < sizeof(code) ? n_bytes : sizeof(code);
	if (runtime_memory_read(&p->process.memory, b->newproc1, code, n_bytes))
		b->creator_word = gobirth_creator_word(code, n_bytes);
	if (!b->creator_word)
		*b = (struct gobirth_code){ .at = 0 };
}

static void find_functions(struct gofind *f, struct gofind_program *p)
{
	const struct goprocess *x = &p->process;
	const struct gofind_file *kept = known(f, x->dso->serial);
	struct gofind_file file = kept ? *kept : search(x);
	if (!kept) {
		if (f->file.n >= FILES_MAX)
			f->file.n = 0;
		VEC_PUSH(&f->file, file);
	}
	if (!file.change_vaddr)
		return;
	p->change_at = file.change_vaddr + x->places.bias;
	uint64_t bias = x->places.bias;
	if (file.birth.at) {
		p->birth = file.birth;
		p->birth.at += bias;
		p->birth.newproc1 += bias;
		p->birth.newproc1_end += bias;
		find_creator(p);
	}
	p->code = (struct goread_code){
		.do_at = file.do_vaddr + x->places.bias, .do_end = file.do_end + x->places.bias,
		.goexit = file.goexit_vaddr ? file.goexit_vaddr + x->places.bias : 0,
	};
}

static enum gofind_result read_program(struct gofind_program *p)
{
	struct cfi_place place;
	const struct goprocess *x = &p->process;
	if (!cfi_find_section(x->cfi, ".go.buildinfo", &place))
		return GOFIND_NONE;
	if (!go_version_read(&x->memory, place.vaddr + x->places.bias, place.n_bytes, &p->version))
		return x->code ? GOFIND_UNREADABLE : GOFIND_NONE;
	const struct go_layout *l = go_layout_of(&p->version);
	struct go_program proven;
	if (l)
		p->layout = *l;
	else if (go_program_open(&x->places, &proven) == GO_PROGRAM_OK)
		p->layout = proven.layout;
	else
		return GOFIND_UNSUPPORTED;
	if (x->cfi->arch == &arch_arm64 && p->version.minor < GO_ARM64_REGISTERS)
		p->change_at = 0;
	return GOFIND_OK;
}

enum gofind_result gofind_open(struct gofind *f, const struct dso_table *dsos,
			       const struct procs_space *space, const struct host *host,
			       uint32_t pid, bool all, struct gofind_program *ret)
{
	struct goprocess *x = &ret->process;
	*ret = (struct gofind_program){ .change_at = 0 };
	if (!may_have(f, dsos, space, all) || !goprocess_open(x, dsos, space))
		return GOFIND_NONE;
	goprocess_attach(x, host, pid);
	find_functions(f, ret);
	enum gofind_result r = ret->change_at || all ? read_program(ret) : GOFIND_NONE;
	if (r != GOFIND_OK)
		goprocess_close(x);
	return r;
}

uint64_t gofind_allgs(const struct gofind_program *p)
{
	uint64_t at;
	return go_places_allgs(&p->process.places, &p->layout, 0, false, &at) == GO_PLACE_NONE
		       ? 0 : at;
}
