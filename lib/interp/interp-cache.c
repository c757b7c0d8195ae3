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
/* An interpreter that cannot be read may be starting: it is tried again so soon, then after twice
 * the time, until that exceeds AGAIN_NS. */
#define STARTING_NS 20000000u
/* The file of a new process is searched so long after its first sample: the search takes about a
 * ms, and rings have their final size only later. */
#define EARLY_NS 10000000u

struct interp_cache_entry {
	struct interp_process *process; /* NULL: there is none */
	struct interp_samples *samples; /* of process; NULL: none yet */
	uint32_t n_changes;             /* of the address space when that was found out */
	uint32_t exe;                   /* the program then: another one is a new process */
	uint64_t tried_ns;              /* 0: not yet */
	uint64_t again_ns;              /* after tried_ns; 0: when further files are mapped */
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

/* The entry of a process.  A launcher may have executed another program. */
static struct interp_cache_entry *entry(struct interp_cache *c, const struct procs_process *p)
{
	struct interp_cache_entry *e = idmap_make(&c->by_pid, p->pid, sizeof(*e));
	if (!e || e->exe == p->exe)
		return e;
	e->exe = p->exe;
	e->tried_ns = e->again_ns = e->seen_ns = 0;
	return e;
}

static bool is_due(const struct interp_cache_entry *e, const struct procs_process *p,
		   uint64_t now_ns)
{
	uint64_t past_ns = now_ns - e->tried_ns;
	if (!e->tried_ns || e->process)
		return true;
	if (e->again_ns)
		return past_ns >= e->again_ns;
	return e->n_changes != p->space.n_changes && past_ns >= AGAIN_NS;
}

static uint64_t next_again_ns(const struct interp_cache_entry *e)
{
	uint64_t next_ns = e->again_ns ? 2 * e->again_ns : STARTING_NS;
	return e->tried_ns && !e->again_ns ? 0 : next_ns > AGAIN_NS ? 0 : next_ns;
}

static void try_open(struct interp_cache *c, struct interp_cache_entry *e,
		     struct procs_process *p, uint64_t now_ns)
{
	struct interp_process *process = NULL;
	struct err why = { 0 };
	set_process(c, e, NULL);
	int r = interp_process_open(&c->tables, p, &process, &why);
	bool is_refused = r != 0 && r != -ENOENT && r != -ESRCH;
	e->again_ns = is_refused ? next_again_ns(e) : 0;
	e->n_changes = p->space.n_changes;
	e->tried_ns = now_ns;
	if (r == 0)
		set_process(c, e, process);
	if (r == 0 && c->why_pid == p->pid)
		*c->why = 0;
	if (!is_refused)
		return;
	snprintf(c->why, sizeof(c->why), "process %u: %.100s", p->pid, why.what);
	c->why_pid = p->pid;
	c->is_why_final = !e->again_ns;
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

bool interp_cache_is_early(struct interp_cache *c, const struct procs_process *p,
			   uint64_t now_ns)
{
	struct interp_cache_entry *e = entry(c, p);
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
