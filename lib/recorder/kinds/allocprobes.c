/*
 * A program may have both the library and an allocator with probes, to which the library passes
 * each call on: a block would have two samples.  The library's count if it can see the calls, since
 * its samples have a size and a mean that are consistent with each other.
 */

#include "recorder/kinds/allocprobes.h"

#include "base/err.h"
#include "base/host.h"
#include "base/log.h"
#include "engine/engine-allocs.h"
#include "event/evsdt.h"
#include "event/evusdt.h"
#include "labels/probeargs.h"
#include "probe/probefiles.h"
#include "recorder/kinds/allocblocks.h"
#include "recorder/kinds/kind-alloc.h"
#include "recorder/kinds/kind-cpu-ops.h"
#include "source/record.h"

#include <errno.h>

static struct kind_alloc *state_of(const struct kind_session *k)
{
	return ((struct kind_cpu *)k->state)->alloc;
}

bool allocprobes_possible(const struct kind_session *k)
{
	long type;
	return k->config->n_pids && host_read_long(k->host, HOST_SYS, &type,
						   "bus/event_source/devices/uprobe/type") == 0;
}

bool allocprobes_skips(const struct probefiles_file *file)
{
	return file->probes->is_alloc_library;
}

void allocprobes_join(struct kind_session *k)
{
	struct kind_cpu *c = k->state;
	for (size_t i = 0; i < k->n_events; i++) {
		c->events.v[i].output = 0;
		k->event[i].output = 0;
		k->event[i].is_memory = true;
	}
	k->n_outputs = c->events.n_outputs = 1;
}

bool allocprobes_any(const struct kind_session *k)
{
	return k->n_events > 1;
}

static void remove_probes(struct kind_session *k)
{
	struct kind_cpu *c = k->state;
	while (c->events.n > 1)
		evspec_done(&c->events.v[--c->events.n]);
	k->n_events = 1;
}

int allocprobes_open(struct kind_session *k, struct err *e)
{
	struct err why = { 0 };
	int r = kind_cpu_open(k, &why);
	if ((r == -EACCES || r == -EPERM) && allocprobes_any(k)) {
		state_of(k)->no_probes = why;
		remove_probes(k);
		r = kind_cpu_open(k, &why);
	}
	if (r < 0)
		*e = why;
	return r;
}

/* ---- samples ------------------------------------------------------------------------------- */

/* What the sample says; false: something is not in it, or cannot be true. */
static bool read_block(const struct evusdt_args *args, const struct record_sample *s,
		       struct allocblocks_block *ret)
{
	*ret = (struct allocblocks_block){ .is_tracked = true };
	if (!probeargs_arg(&args->label[0], args->sp, s, &ret->addr))
		return false;
	if (!args->has_value)
		return true;
	if (!probeargs_arg(&args->label[1], args->sp, s, &ret->n_bytes) ||
	    !probeargs_arg(&args->value, args->sp, s, &ret->value) ||
	    ret->n_bytes > ALLOCBLOCKS_BYTES_MAX || ret->value > ALLOCBLOCKS_BYTES_MAX)
		return false;
	uint64_t each = ret->n_bytes ? ret->n_bytes : 1;
	ret->n = (ret->value * ALLOCS_PARTS + each / 2) / each;
	return true;
}

void allocprobes_take(struct kind_session *k, struct engine *g, const struct record *r)
{
	struct kind_alloc *a = state_of(k);
	struct allocblocks_block b;
	const struct evusdt_args *args = r->event < k->n_events ? k->event[r->event].args : NULL;
	if (!args)
		return;
	if (allocrings_sees(&a->rings, r->pid)) {
		if (!a->is_probe_ignored)
			log_line(k->log, LOG_WARN, "process %u has libcprof-alloc.so, which counts "
				 "its blocks: its own probes are ignored", r->pid);
		a->is_probe_ignored = true;
		return;
	}
	if (!read_block(args, &r->sample, &b))
		g->n_args_unknown++;
	else if (args->has_value)
		allocblocks_add(a, g, r, &b);
	else
		allocblocks_remove(a, g, r, b.addr);
}
