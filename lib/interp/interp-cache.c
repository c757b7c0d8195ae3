#include "interp/interp-cache.h"

#include "base/err.h"
#include "interp/interp-process.h"
#include "interp/interp-samples.h"
#include "proc/procs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* A process without an interpreter, which maps further files, is looked at again after so long. */
#define AGAIN_NS 1000000000u
/* The file of a new process is searched so long after its first sample: the search takes about a
 * ms, and rings have their final size only later. */
#define EARLY_NS 10000000u

struct interp_cache_entry {
	struct interp_process *process; /* NULL: there is none */
	struct interp_samples *samples; /* of process; NULL: none yet */
	uint32_t n_changes;             /* of the address space when that was found out */
	uint32_t exe;                   /* the program then: another one is looked at at once */
	uint64_t tried_ns;
	uint64_t seen_ns;               /* first by interp_cache_is_early; 0: not yet */
};

static void set_process(struct interp_cache *c, struct interp_cache_entry *e,
		       struct interp_process *process)
{
	c->n_found -= e->process != NULL;
	if (e->samples)
		interp_samples_done(e->samples);
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
}

struct interp_process *interp_cache_find(struct interp_cache *c, struct procs_process *p,
					uint64_t now_ns)
{
	struct interp_cache_entry *e = idmap_make(&c->by_pid, p->pid, sizeof(*e));
	struct interp_process *process = NULL;
	struct err why = { 0 };
	if (!e)
		return NULL;
	if (e->process && interp_process_fits(e->process, p))
		return e->process;
	bool is_same = e->tried_ns && e->exe == p->exe;
	if (!e->process && is_same && (e->n_changes == p->space.n_changes ||
					  now_ns - e->tried_ns < AGAIN_NS))
		return NULL;
	set_process(c, e, NULL);
	e->n_changes = p->space.n_changes;
	e->exe = p->exe;
	e->tried_ns = now_ns;
	int r = interp_process_open(&c->tables, p, &process, &why);
	if (r == 0)
		set_process(c, e, process);
	else if (r != -ENOENT && r != -ESRCH)
		snprintf(c->why, sizeof(c->why), "process %u: %.100s", p->pid, why.what);
	return e->process;
}

bool interp_cache_is_early(struct interp_cache *c, uint32_t pid, uint64_t now_ns)
{
	struct interp_cache_entry *e = idmap_make(&c->by_pid, pid, sizeof(*e));
	if (!e || e->process || e->tried_ns)
		return false;
	if (!e->seen_ns)
		e->seen_ns = now_ns;
	return now_ns - e->seen_ns < EARLY_NS;
}

bool interp_cache_program(struct interp_cache *c, struct procs_process *p, uint64_t now_ns,
			  struct interp_program *ret)
{
	struct interp_process *process = interp_cache_find(c, p, now_ns);
	struct interp_cache_entry *e = process ? idmap_get(&c->by_pid, p->pid) : NULL;
	if (!e)
		return false;
	if (!e->samples && (e->samples = malloc(sizeof(*e->samples))))
		interp_samples_init(e->samples);
	*ret = (struct interp_program){
		interp_process_runtime(process), interp_process_code(process), e->samples,
	};
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
}
