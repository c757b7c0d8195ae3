/*
 * The runtime is searched for in all files that the process has mapped, because it may be in a
 * library.  Its memory is read by the id of a thread that lives: the main thread may have ended.
 */

#include "proc/goprocess.h"

#include "base/host.h"
#include "base/remotemem.h"
#include "proc/procs-space.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"
#include "symbolize/runtime/go-table.h"

#include <errno.h>

void goprocess_close(struct goprocess *x)
{
	go_table_close(x->table);
	cfi_close(x->cfi);
	x->table = NULL;
	x->cfi = NULL;
}

static bool open_file(struct goprocess *x, const struct dso *d, const struct procs_map *map)
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
	goprocess_close(x);
	return false;
}

bool goprocess_open(struct goprocess *x, const struct dso_table *dsos,
		    const struct procs_space *space)
{
	*x = (struct goprocess){ .dso = NULL };
	for (size_t i = 0; i < space->map.n; i++)
		if (open_file(x, dso_get(dsos, space->map.v[i].dso), &space->map.v[i]))
			return true;
	return false;
}

static long read_memory(void *ctx, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct goprocess *x = ctx;
	long r = remotemem_read(x->host->memory, x->tid, local, n_local, remote, n_remote);
	if (r < 0 && r != -EFAULT)
		x->code = (int)r;
	return r;
}

void goprocess_attach(struct goprocess *x, const struct host *host, uint32_t pid)
{
	uint64_t bias = x->places.bias;
	x->host = host;
	x->tid = host_live_thread(host, pid);
	x->memory = (struct runtime_memory){ .read = read_memory, .ctx = x };
	x->places = (struct go_places){
		.cfi = x->cfi, .table = x->table, .memory = &x->memory, .bias = bias,
		.data_start = x->dso->data_start + bias, .data_end = x->dso->data_end + bias,
	};
}
