/*
 * The function that changes labels is linked only if something in the program can call it.  It is a
 * part of the package runtime, which comes early in the table of functions.
 */
#include "labels/gofind.h"

#include "proc/procs-space.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/go-program.h"
#include "symbolize/runtime/go-table.h"

#define FILES_MAX 1024u
/* Since Go 1.18 arguments are in registers on arm64, too; on x86-64 they are since 1.17. */
#define GO_ARM64_REGISTERS 18u

static const char *const names[] = {
	"runtime/pprof.runtime_setProfLabel", "runtime/pprof.Do", "runtime.goexit",
};

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

static struct gofind_file search(const struct goprocess *x)
{
	uint64_t at[3], bias = x->places.bias;
	struct go_table_function f;
	struct gofind_file file = { .serial = x->dso->serial };
	go_places_functions(&x->places, names, at, 3);
	file.change_vaddr = at[0] ? at[0] - bias : 0;
	file.goexit_vaddr = at[2] ? at[2] - bias : 0;
	if (at[1] && go_table_find(x->places.table, at[1] - bias, &f)) {
		file.do_vaddr = f.start;
		file.do_end = f.end;
	}
	return file;
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
