#include "interp/interp-cache.h"

#include "base/err.h"
#include "interp/interp-process.h"
#include "interp/interp-samples.h"
#include "interp/interp-saved.h"
#include "proc/memoryrights.h"
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

#define FILES_MAX 32u           /* if processes do not need more */

/* Processes of the same file learn together, because short ones learn too little for themselves;
 * but only those of one user, who could mislead them. */
struct interp_cache_file {
	uint32_t serial, uid;           /* of its DSO, and of the processes */
	uint32_t n_users;               /* processes */
	char saved_name[INTERP_SAVED_NAME_MAX]; /* "": not kept for later recordings */
	struct interp_learn learn;
	struct interp_shared shared;
};

struct interp_cache_entry {
	struct interp_process *process; /* NULL: there is none */
	struct interp_samples *samples; /* of process; NULL: none yet */
	struct interp_cache_file *file; /* of samples */
	uint32_t number;                /* of process */
	uint32_t n_changes;             /* of the address space when that was found out */
	uint32_t exe;                   /* the program then: another one is a new process */
	uint64_t tried_ns;              /* 0: not yet */
	uint64_t again_ns;              /* after tried_ns */
	bool is_starting;               /* even if its mappings stay the same */
	bool is_refused;                /* it has an interpreter that cannot be read */
	uint64_t seen_ns;               /* first by interp_cache_is_early; 0: not yet */
};

/* ---- what is learned of files --------------------------------------------------------------- */

static struct interp_cache_file *find_file(const struct interp_cache *c, uint32_t serial,
					   uint32_t uid)
{
	for (size_t i = 0; i < c->file.n; i++)
		if (c->file.v[i]->serial == serial && c->file.v[i]->uid == uid)
			return c->file.v[i];
	return NULL;
}

/* Has another user's processes of the same file taught more? */
static bool is_outdone(const struct interp_cache *c, const struct interp_cache_file *f)
{
	for (size_t i = 0; i < c->file.n; i++)
		if (c->file.v[i]->learn.n > f->learn.n &&
		    strcmp(c->file.v[i]->saved_name, f->saved_name) == 0)
			return true;
	return false;
}

static void save_file(const struct interp_cache *c, const struct interp_cache_file *f)
{
	if (c->saved_dir && f->saved_name[0] && !is_outdone(c, f))
		interp_saved_write(c->saved_dir, f->saved_name, &f->learn);
}

static void remove_file(struct interp_cache *c, size_t i)
{
	struct interp_cache_file *f = c->file.v[i];
	interp_learn_done(&f->learn);
	interp_shared_done(&f->shared);
	free(f);
	memmove(c->file.v + i, c->file.v + i + 1, (c->file.n - i - 1) * sizeof(*c->file.v));
	c->file.n--;
}

/* The oldest one that no process needs makes room. */
static void limit_files(struct interp_cache *c)
{
	for (size_t i = 0; i < c->file.n && c->file.n >= FILES_MAX; i++) {
		if (c->file.v[i]->n_users)
			continue;
		save_file(c, c->file.v[i]);
		remove_file(c, i);
		return;
	}
}

/* With what earlier recordings have learned.  NULL: no memory. */
static struct interp_cache_file *add_file(struct interp_cache *c, const struct interp_process *p,
					  uint32_t uid)
{
	limit_files(c);
	struct interp_cache_file *f = calloc(1, sizeof(*f));
	if (!f || !VEC_PUSH(&c->file, f)) {
		free(f);
		return NULL;
	}
	f->serial = interp_process_file(p);
	f->uid = uid;
	interp_learn_init(&f->learn, interp_process_runtime(p));
	snprintf(f->saved_name, sizeof(f->saved_name), "%s", interp_process_saved_name(p));
	if (c->saved_dir && f->saved_name[0])
		interp_saved_read(c->saved_dir, f->saved_name, &f->learn);
	return f;
}

static struct interp_cache_file *file_of(struct interp_cache *c, const struct interp_process *p,
					 uint32_t pid)
{
	struct memoryrights rights;
	memoryrights_read(c->tables.host, pid, &rights);
	struct interp_cache_file *f = find_file(c, interp_process_file(p), rights.uid);
	return f ? f : add_file(c, p, rights.uid);
}

/* ---- processes ----------------------------------------------------------------------------- */

static void set_process(struct interp_cache *c, struct interp_cache_entry *e,
		       struct interp_process *process)
{
	c->n_found -= e->process != NULL;
	if (e->samples) {
		interp_samples_done(e->samples);
		e->file->n_users--;
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
	for (size_t i = 0; i < c->file.n; i++)
		save_file(c, c->file.v[i]);
	while (c->file.n)
		remove_file(c, c->file.n - 1);
	VEC_FREE(&c->file);
	free(c->saved_dir);
	c->saved_dir = NULL;
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
	struct err why = { 0 };
	set_process(c, e, NULL);
	e->n_changes = p->space.n_changes;
	int r = interp_process_open(&c->tables, p, &process, &why);
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
	for (size_t i = 0; i < c->file.n && p->exe != UINT32_MAX; i++)
		if (c->file.v[i]->serial == dso_get(c->tables.dsos, p->exe)->serial)
			return true;
	return false;
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

static void add_samples(struct interp_cache *c, struct interp_cache_entry *e, uint32_t pid)
{
	e->file = file_of(c, e->process, pid);
	if (!e->file || !(e->samples = malloc(sizeof(*e->samples))))
		return;
	interp_samples_init(e->samples, &e->file->learn, &e->file->shared);
	e->file->n_users++;
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
		add_samples(c, e, p->pid);
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
}
