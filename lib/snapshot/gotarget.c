/*
 * The runtime is searched for in all files that the process has mapped, because it may be in a
 * library.  Its memory is read by the id of a thread that lives: the main thread may have ended.
 */

#include "snapshot/gotarget.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/host.h"
#include "base/remotemem.h"
#include "engine/engine.h"
#include "snapshot/refusal.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/go-dwarf.h"
#include "symbolize/runtime/go-table.h"

#include <errno.h>

#define DEBUG_NS_MAX 2000000000u        /* for debug information of unknown versions */

void gotarget_close(struct gotarget *x)
{
	go_table_close(x->table);
	cfi_close(x->cfi);
	x->table = NULL;
	x->cfi = NULL;
}

static bool open_file(struct gotarget *x, const struct dso *d, const struct procs_map *map)
{
	struct cfi_place place;
	uint64_t vaddr;
	if (!dsokeep_has_file(d) || !d->is_elf || !dso_vaddr(d, map->pgoff, &vaddr) ||
	    cfi_open_dso(d, &x->cfi) < 0)
		return false;
	x->dso = d;
	x->places.bias = map->start - vaddr;
	if (cfi_find_section(x->cfi, ".go.buildinfo", &place) &&
	    (x->table = go_table_open(x->cfi)))
		return true;
	gotarget_close(x);
	return false;
}

/* The first file of the process that contains Go's runtime: a program, or a library. */
static bool find_file(struct engine *g, const struct procs_process *p, struct gotarget *ret)
{
	const struct procs_map *map = p->space.map.v;
	*ret = (struct gotarget){ .dso = NULL };
	for (size_t i = 0; i < p->space.map.n; i++)
		/* a file's mappings follow each other */
		if ((!i || map[i].dso != map[i - 1].dso) &&
		    open_file(ret, dso_get(&g->dsos, map[i].dso), &map[i]))
			return true;
	return false;
}

/* What go_program_open found, as a message. */
static int explain(enum go_program_result r, const struct gotarget *x, struct err *e)
{
	const char *version = x->go.version.text;
	switch (r) {
	case GO_PROGRAM_OK:
		return 0;
	case GO_PROGRAM_UNREADABLE:
		if (x->code == -ETIMEDOUT)
			return err_set(e, ETIMEDOUT, "the memory of process %u does not answer",
				       x->pid);
		if (x->code != -EPERM && x->code != -EACCES)
			return err_set(e, ESRCH, "process %u has ended", x->pid);
		return refusal_explain(x->host, x->pid, x->code, e);
	case GO_PROGRAM_UNSUPPORTED:
		return err_set(e, ENOTSUP, "process %u: the layout of goroutines in %s is unknown; "
			       "known are Go 1.17 to 1.%u, and later versions in programs with "
			       "debug information", x->pid, version, GO_LAYOUT_NEWEST);
	case GO_PROGRAM_NO_LIST:
		return err_set(e, ENOTSUP, "process %u: the goroutines of this %s program were not "
			       "found", x->pid, version);
	case GO_PROGRAM_NOT_GO:
		break;
	}
	return -ENOENT;
}

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct gotarget *x = ctx;
	long r = remotemem_read(x->host->memory, x->tid, local, n_local, remote, n_remote);
	if (r < 0 && r != -EFAULT)
		x->code = (int)r;
	return r;
}

/* Debug files are searched for in the usual places, but not fetched. */
static bool debug_layout(void *ctx, struct go_layout *ret)
{
	struct gotarget *x = ctx;
	struct symdebug_place where = x->engine->walk.user.debug;
	struct symelf elf;
	where.root_fd = x->dso->root_fd;
	where.deadline_ns = clock_monotonic_ns() + DEBUG_NS_MAX;
	if (symelf_open(&elf, x->dso, &where) < 0)
		return false;
	Elf *dwarf = symelf_dwarf(&elf);
	bool is_known = dwarf && go_dwarf_layout(dwarf, dwarf == elf.elf ? elf.fd : elf.debug_fd,
						 &where, ret);
	symelf_close(&elf);
	return is_known;
}

int gotarget_open(struct gotarget *ret, struct engine *g, const struct procs_process *p,
		  struct err *e)
{
	if (!find_file(g, p, ret))
		return -ENOENT;
	uint64_t bias = ret->places.bias;
	ret->engine = g;
	ret->host = g->options.host;
	ret->pid = p->pid;
	ret->tid = host_live_thread(ret->host, p->pid);
	ret->memory = (struct runtime_memory){ .read = read_memory, .ctx = ret };
	ret->places = (struct go_places){
		.cfi = ret->cfi, .table = ret->table, .memory = &ret->memory, .bias = bias,
		.data_start = ret->dso->data_start + bias, .data_end = ret->dso->data_end + bias,
		.debug_layout = debug_layout, .debug_ctx = ret,
	};
	return explain(go_program_open(&ret->places, &ret->go), ret, e);
}
