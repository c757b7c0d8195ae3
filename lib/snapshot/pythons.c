#include "snapshot/pythons.h"

#include "base/err.h"
#include "engine/engine.h"
#include "interp/interp-python.h"
#include "snapshot/snapshot.h"
#include "snapshot/take.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One process. */
struct pythons_process {
	bool is_tried;
	struct interp_python *python;   /* NULL: it runs none, or cannot be read */
};

struct pythons {
	struct interp_tables tables;
	struct pythons_process *process;/* by index of the scan */
	struct interp_frames *stopped;  /* by thread; NULL: none was stopped */
	size_t n_processes, n_stopped;
	struct interp_frames frames;    /* of the present thread */
};

struct pythons *pythons_new(const struct take *t)
{
	struct engine *g = t->s->engine;
	struct pythons *p = t->o->interpreter == INTERP_NONE ? NULL : calloc(1, sizeof(*p));
	if (!p)
		return NULL;
	p->tables = (struct interp_tables){
		.dsos = &g->dsos, .frames = &g->frames, .stacks = &g->stacks,
		.vfuncs = &g->vfuncs, .host = t->o->host,
	};
	p->n_processes = t->scan.processes.n;
	p->process = calloc(p->n_processes + 1, sizeof(*p->process));
	if (p->process)
		return p;
	free(p);
	return NULL;
}

void pythons_free(struct pythons *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_processes; i++)
		interp_python_close(p->process[i].python);
	for (size_t i = 0; i < p->n_stopped; i++)
		interp_frames_done(&p->stopped[i]);
	interp_frames_done(&p->frames);
	free(p->process);
	free(p->stopped);
	free(p);
}

/* The first program without functions is named, or else the first one with. */
static struct interp_python *python_of(struct take *t, uint32_t process)
{
	struct pythons_process *p = &t->pythons->process[process];
	uint32_t pid = t->scan.processes.v[process].pid;
	const struct procs_process *of = procs_find(&t->s->engine->procs, pid);
	char *text = t->s->python;
	struct err e = { 0 };
	if (p->is_tried || !of)
		return p->python;
	p->is_tried = true;
	int r = interp_python_open(&t->pythons->tables, of, &p->python, &e);
	if (r < 0)
		p->python = NULL;
	if (r == 0 && !*text)
		snprintf(text, sizeof(t->s->python), "%s", interp_python_version(p->python));
	else if (r < 0 && r != -ENOENT)
		snprintf(text, sizeof(t->s->python), "process %u: %.100s", pid, e.what);
	return p->python;
}

void pythons_before_stop(struct take *t)
{
	for (size_t i = 0; i < t->scan.threads.n && t->pythons; i++)
		if (t->scan.threads.v[i].stop)
			python_of(t, t->scan.threads.v[i].process);
}

void pythons_read_stopped(struct take *t)
{
	struct pythons *p = t->pythons;
	if (!p)
		return;
	p->stopped = calloc(t->scan.threads.n + 1, sizeof(*p->stopped));
	p->n_stopped = p->stopped ? t->scan.threads.n : 0;
	for (size_t i = 0; i < p->n_stopped; i++) {
		const struct threadscan_thread *thread = &t->scan.threads.v[i];
		struct interp_python *python = thread->stop ? python_of(t, thread->process) : NULL;
		if (python && !interp_python_read(python, thread->tid, &p->stopped[i]))
			p->stopped[i].is_whole = false;
	}
}

/* The functions of a thread; NULL: they are unknown. */
static const struct interp_frames *frames_of(struct take *t, struct interp_python *python,
					     const struct threadscan_thread *thread)
{
	struct pythons *p = t->pythons;
	if (thread->stop)
		return p->stopped ? &p->stopped[thread - t->scan.threads.v] : NULL;
	return interp_python_read(python, thread->tid, &p->frames) ? &p->frames : NULL;
}

static const struct interp_frames none = { .is_whole = false };

enum pythons_result pythons_look(struct take *t, const struct threadscan_thread *thread,
				 const struct snapshot_stack *stack)
{
	struct interp_python *python = t->pythons ? python_of(t, thread->process) : NULL;
	uint32_t node = stack->id;
	return python && interp_place(&t->pythons->tables, interp_python_code(python),
				      t->o->interpreter, &none, stack->is_whole, &node) ==
				 INTERP_UNKNOWN ? PYTHONS_UNKNOWN : PYTHONS_NONE;
}

enum pythons_result pythons_place(struct take *t, const struct threadscan_thread *thread,
				  struct snapshot_stack *stack)
{
	struct interp_python *python = t->pythons ? python_of(t, thread->process) : NULL;
	if (!python)
		return PYTHONS_NONE;
	const struct interp_frames *f = frames_of(t, python, thread);
	bool is_still = thread->stop || threadscan_is_still(&t->scan, thread);
	uint32_t node = stack->id;
	switch (interp_place(&t->pythons->tables, interp_python_code(python), t->o->interpreter,
			     f && is_still ? f : &none, stack->is_whole, &node)) {
	case INTERP_NO_LOOP:
		return PYTHONS_NONE;
	case INTERP_UNKNOWN:
		return is_still ? PYTHONS_UNKNOWN : PYTHONS_MOVED;
	case INTERP_PLACED:
		break;
	}
	stack->id = node;
	return PYTHONS_PLACED;
}

void pythons_note(struct take *t, enum pythons_result r)
{
	if (r == PYTHONS_NONE)
		return;
	t->s->n_python += r == PYTHONS_PLACED;
	t->s->n_no_python += r != PYTHONS_PLACED;
	snapshot_label(t->s, LABEL_PYTHON_STACK, r == PYTHONS_PLACED ? "exact" : "unknown");
}
