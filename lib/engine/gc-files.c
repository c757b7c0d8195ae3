/* Mark and forget: an id that is marked by one of the tables keeps its file. */

#include "engine/gc-files.h"

#include "agg/frames.h"
#include "base/cleanup.h"
#include "engine/gc-tables.h"
#include "engine/targets.h"
#include "engine/throttle.h"
#include "labels/locklabels.h"
#include "proc/jit.h"
#include "proc/procs.h"
#include "stack/stack-walk.h"

#include <errno.h>
#include <stdlib.h>

/* Closing the CFI of fewer files, some 10 KB each, is not worth the work. */
#define CFIS_MIN 64u

/* Throttling that began longer ago has ended with its thread. */
#define THROTTLE_NS_MAX 10000000000u

static bool is_known(void *ctx, uint32_t pid)
{
	return procs_find(ctx, pid) != NULL;
}

int gc_files_unused(const struct gc_tables *t, const struct gc_tables_part *part, size_t n_parts)
{
	CLEANUP_FREE bool *used = calloc(t->dsos->n ? t->dsos->n : 1, sizeof(*used));
	if (!used)
		return -ENOMEM;
	used[t->walk->kernel_dso] = used[t->walk->pseudo_dso] = true;
	for (uint32_t i = 0; i < t->frames->n; i++)
		used[t->frames->v[i].dso] = true;
	procs_mark(t->procs, used);
	locklabels_mark(t->locks, used);
	stack_user_mark(&t->walk->user, used);
	for (size_t i = 0; i < n_parts; i++)
		for (size_t k = 0; part[i].user && k < part[i].user->of_dso.n; k++)
			used[part[i].user->of_dso.v[k].dso] = true;
	jit_forget(t->jit, t->procs, used);
	stack_user_forget(&t->walk->user, used);
	dso_table_forget(t->dsos, used);
	targets_forget(t->targets, is_known, t->procs);
	if (*t->last_ns > THROTTLE_NS_MAX)
		throttle_forget(t->throttle, *t->last_ns - THROTTLE_NS_MAX);
	return 0;
}

void gc_files_let_go(const struct gc_tables *t)
{
	CLEANUP_FREE bool *mapped = calloc(t->dsos->n ? t->dsos->n : 1, sizeof(*mapped));
	if (!mapped)
		return;
	procs_mark_running(t->procs, mapped);
	for (uint32_t i = 0; i < t->dsos->n; i++) {
		struct dso *d = t->dsos->dso[i];
		if (!d || d->key.kind != DSO_ELF)
			continue;
		if (!mapped[i] && d->is_idle)
			dso_close_file(d);
		d->is_idle = !mapped[i];
	}
	mapdso_close_roots(&t->procs->mapdso);
}

void gc_files_cfi(struct gc_tables *t)
{
	uint32_t n = t->walk->user.n_open;
	if (n <= CFIS_MIN || n / 2 <= t->n_cfis)
		return;
	CLEANUP_FREE bool *mapped = calloc(t->dsos->n ? t->dsos->n : 1, sizeof(*mapped));
	if (!mapped)
		return;
	procs_mark(t->procs, mapped);
	stack_user_close(&t->walk->user, mapped);
	t->n_cfis = t->walk->user.n_open;
}
