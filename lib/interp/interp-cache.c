#include "interp/interp-cache.h"

#include "base/err.h"
#include "interp/interp-process.h"
#include "interp/interp-samples.h"
#include "proc/procs.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A process is looked at again after so long, if it maps further files, or has an interpreter that
 * cannot be read, which may be starting: then after twice the time, and so on. */
#define AGAIN_NS_MIN 10000000u
#define AGAIN_NS_MAX 1000000000u
/* The file of a new process is searched so long after its first sample: the search takes about a
 * ms, and rings have their final size only later. */
#define EARLY_NS 10000000u

struct interp_cache_entry {
	struct interp_process *process; /* NULL: there is none */
	struct interp_samples *samples; /* of process; NULL: none yet */
	struct interp_learned_file *file;       /* of samples */
	uint32_t number;                /* of process */
	uint32_t n_changes;             /* of the address space when that was found out */
	uint32_t exe;                   /* the program then: another one is a new process */
	uint64_t tried_ns;              /* 0: not yet */
	uint64_t again_ns;              /* after tried_ns */
	bool is_starting;               /* even if its mappings stay the same */
	bool is_refused;                /* it has an interpreter that cannot be read */
	uint64_t seen_ns;               /* first by interp_cache_is_early; 0: not yet */
};

/* ---- processes ----------------------------------------------------------------------------- */

static void set_process(struct interp_cache *c, struct interp_cache_entry *e,
		       struct interp_process *process)
{
	c->n_found -= e->process != NULL;
	if (e->samples) {
		interp_samples_done(e->samples);
		interp_learned_give_back(e->file);
	}
	free(e->samples);
	e->samples = NULL;
	interp_process_close(e->process);
	e->process = process;
	c->n_found += process != NULL;
}

void interp_cache_done(struct interp_cache *c)
{
	for (size_t i = 0; i < c->by_pid.item.n; i++) {
		set_process(c, c->by_pid.item.v[i].value, NULL);
		free(c->by_pid.item.v[i].value);
	}
	idmap_done(&c->by_pid);
	interp_files_done(&c->files);
	interp_learned_done(&c->learned);
	refused_done(&c->refused);
}

/* The entry of a process.  A launcher may have executed another program. */
static struct interp_cache_entry *entry(struct interp_cache *c, const struct procs_process *p)
{
	struct interp_cache_entry *e = idmap_make(&c->by_pid, p->pid, sizeof(*e));
	if (!e || e->exe == p->exe)
		return e;
	e->exe = p->exe;
	e->tried_ns = e->again_ns = e->seen_ns = 0;
	e->is_refused = false;
	return e;
}

static bool is_due(const struct interp_cache_entry *e, const struct procs_process *p,
		   uint64_t now_ns)
{
	if (!e->tried_ns || e->process)
		return true;
	return (e->is_starting || e->n_changes != p->space.n_changes) &&
	       now_ns - e->tried_ns >= e->again_ns;
}

static void set_again(struct interp_cache_entry *e, int code, uint64_t now_ns)
{
	e->again_ns = e->again_ns ? 2 * e->again_ns : AGAIN_NS_MIN;
	bool is_late = e->again_ns > AGAIN_NS_MAX;
	if (is_late)
		e->again_ns = AGAIN_NS_MAX;
	e->is_refused = code != 0 && code != -ENOENT && code != -ESRCH && code != -EAGAIN;
	e->is_starting = code == -EAGAIN || (e->is_refused && !is_late);
	e->tried_ns = now_ns;
}

static void try_open(struct interp_cache *c, struct interp_cache_entry *e,
		     struct procs_process *p, uint64_t now_ns)
{
	struct interp_process *process = NULL;
	struct interp_tables tables = c->tables;
	struct err why = { 0 };
	tables.files = &c->files;
	set_process(c, e, NULL);
	e->n_changes = p->space.n_changes;
	int r = interp_process_open(&tables, p, &process, &why);
	set_again(e, r, now_ns);
	if (r == 0) {
		set_process(c, e, process);
		e->number = ++c->n_opened;
		refused_remove(&c->refused, p->pid);
	}
	/* a process that has ended since stays refused */
	if (e->is_refused)
		refused_add_err(&c->refused, p->pid, &why);
	c->is_final |= e->is_refused && !e->is_starting;
}

struct interp_process *interp_cache_find(struct interp_cache *c, struct procs_process *p,
					uint64_t now_ns)
{
	struct interp_cache_entry *e = entry(c, p);
	if (!e)
		return NULL;
	if (e->process && interp_process_fits(e->process, p))
		return e->process;
	if (is_due(e, p, now_ns))
		try_open(c, e, p, now_ns);
	return e->process;
}

/* Is the program one whose interpreter is known?  Then it is not searched for long. */
static bool is_known(const struct interp_cache *c, const struct procs_process *p)
{
	return c->n_opened && p->exe != UINT32_MAX &&
	       interp_learned_has(&c->learned, dso_get(c->tables.dsos, p->exe)->serial);
}

bool interp_cache_is_early(struct interp_cache *c, const struct procs_process *p,
			   uint64_t now_ns)
{
	struct interp_cache_entry *e = entry(c, p);
	if (!e || e->process || e->tried_ns)
		return false;
	if (!e->seen_ns)
		e->seen_ns = now_ns;
	return now_ns - e->seen_ns < EARLY_NS && !is_known(c, p);
}

static void add_samples(struct interp_cache *c, struct interp_cache_entry *e)
{
	const struct interp_learned_key key = {
		.serial = interp_process_file(e->process), .uid = interp_process_uid(e->process),
		.saved_name = interp_process_saved_name(e->process),
	};
	if (!(e->samples = malloc(sizeof(*e->samples))))
		return;
	e->file = interp_learned_take(&c->learned, &key, interp_process_runtime(e->process));
	if (!e->file) {
		free(e->samples);
		e->samples = NULL;
		return;
	}
	interp_samples_init(e->samples, &e->file->learn, &e->file->shared);
}

bool interp_cache_program(struct interp_cache *c, struct procs_process *p, uint64_t now_ns,
			  struct interp_program *ret)
{
	struct interp_process *process = interp_cache_find(c, p, now_ns);
	struct interp_cache_entry *e = idmap_get(&c->by_pid, p->pid);
	*ret = (struct interp_program){ .is_refused = e && e->is_refused };
	if (!process || !e)
		return false;
	if (!e->samples)
		add_samples(c, e);
	ret->runtime = interp_process_runtime(process);
	ret->code = interp_process_code(process);
	ret->samples = e->samples;
	ret->number = e->number;
	return e->samples;
}

void interp_cache_trim(struct interp_cache *c, const struct procs *procs)
{
	for (size_t i = c->by_pid.item.n; i-- > 0;) {
		uint32_t pid = c->by_pid.item.v[i].id;
		struct interp_cache_entry *e = c->by_pid.item.v[i].value;
		const struct procs_process *p = procs_find(procs, pid);
		if (p && !p->exited)
			continue;
		set_process(c, e, NULL);
		idmap_remove(&c->by_pid, pid);
		free(e);
	}
	interp_files_trim(&c->files);
}
