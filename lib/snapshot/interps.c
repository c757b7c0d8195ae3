#include "snapshot/interps.h"

#include "base/err.h"
#include "engine/engine.h"
#include "interp/interp-process.h"
#include "snapshot/snapshot.h"
#include "snapshot/take.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One process. */
struct interps_process {
	bool is_tried;
	struct interp_process *interp;   /* NULL: it runs none, or cannot be read */
};

struct interps {
	struct interp_tables tables;
	struct interps_process *process;/* by index of the scan */
	struct interp_frames *stopped;  /* by thread; NULL: none was stopped */
	size_t n_processes, n_stopped;
	struct interp_frames frames;    /* of the present thread */
};

struct interps *interps_new(const struct take *t)
{
	struct engine *g = t->s->engine;
	struct interps *p = t->o->interpreter == INTERP_NONE ? NULL : calloc(1, sizeof(*p));
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

void interps_free(struct interps *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->n_processes; i++)
		interp_process_close(p->process[i].interp);
	for (size_t i = 0; i < p->n_stopped; i++)
		interp_frames_done(&p->stopped[i]);
	interp_frames_done(&p->frames);
	free(p->process);
	free(p->stopped);
	free(p);
}

/* The first program without functions is named, or else the first one with. */
static struct interp_process *interp_of(struct take *t, uint32_t process)
{
	struct interps_process *p = &t->interps->process[process];
	uint32_t pid = t->scan.processes.v[process].pid;
	const struct procs_process *of = procs_find(&t->s->engine->procs, pid);
	char *text = t->s->functions_of;
	struct err e = { 0 };
	if (p->is_tried || !of)
		return p->interp;
	p->is_tried = true;
	int r = interp_process_open(&t->interps->tables, of, &p->interp, &e);
	if (r < 0)
		p->interp = NULL;
	if (r == 0 && !*text)
		snprintf(text, sizeof(t->s->functions_of), "%s", interp_process_name(p->interp));
	else if (r < 0 && r != -ENOENT)
		snprintf(text, sizeof(t->s->functions_of), "process %u: %.100s", pid, e.what);
	return p->interp;
}

void interps_before_stop(struct take *t)
{
	for (size_t i = 0; i < t->scan.threads.n && t->interps; i++)
		if (t->scan.threads.v[i].stop)
			interp_of(t, t->scan.threads.v[i].process);
}

void interps_read_stopped(struct take *t)
{
	struct interps *p = t->interps;
	if (!p)
		return;
	p->stopped = calloc(t->scan.threads.n + 1, sizeof(*p->stopped));
	p->n_stopped = p->stopped ? t->scan.threads.n : 0;
	for (size_t i = 0; i < p->n_stopped; i++) {
		const struct threadscan_thread *thread = &t->scan.threads.v[i];
		struct interp_process *interp = thread->stop ? interp_of(t, thread->process) : NULL;
		if (interp && !interp_process_read(interp, thread->tid, &p->stopped[i]))
			p->stopped[i].is_whole = false;
	}
}

/* The functions of a thread; NULL: they are unknown. */
static const struct interp_frames *frames_of(struct take *t, struct interp_process *interp,
					     const struct threadscan_thread *thread)
{
	struct interps *p = t->interps;
	if (thread->stop)
		return p->stopped ? &p->stopped[thread - t->scan.threads.v] : NULL;
	return interp_process_read(interp, thread->tid, &p->frames) ? &p->frames : NULL;
}

static const struct interp_frames none = { .is_whole = false };

enum interps_result interps_look(struct take *t, const struct threadscan_thread *thread,
				 const struct snapshot_stack *stack)
{
	struct interp_process *interp = t->interps ? interp_of(t, thread->process) : NULL;
	uint32_t node = stack->id;
	return interp && interp_place(&t->interps->tables, interp_process_code(interp),
				      t->o->interpreter, &none, stack->is_whole, &node) ==
				 INTERP_UNKNOWN ? INTERPS_UNKNOWN : INTERPS_NONE;
}

enum interps_result interps_place(struct take *t, const struct threadscan_thread *thread,
				  struct snapshot_stack *stack)
{
	struct interp_process *interp = t->interps ? interp_of(t, thread->process) : NULL;
	if (!interp)
		return INTERPS_NONE;
	const struct interp_frames *f = frames_of(t, interp, thread);
	bool is_still = thread->stop || threadscan_is_still(&t->scan, thread);
	uint32_t node = stack->id;
	switch (interp_place(&t->interps->tables, interp_process_code(interp), t->o->interpreter,
			     f && is_still ? f : &none, stack->is_whole, &node)) {
	case INTERP_NO_LOOP:
		return INTERPS_NONE;
	case INTERP_UNKNOWN:
		return is_still ? INTERPS_UNKNOWN : INTERPS_MOVED;
	case INTERP_PLACED:
		break;
	}
	stack->id = node;
	return INTERPS_PLACED;
}

void interps_note(struct take *t, const struct threadscan_thread *thread, enum interps_result r)
{
	struct interp_process *interp = r == INTERPS_NONE ? NULL : interp_of(t, thread->process);
	if (!interp)
		return;
	t->s->n_functions += r == INTERPS_PLACED;
	t->s->n_no_functions += r != INTERPS_PLACED;
	snapshot_label(t->s, interp_process_runtime(interp)->label,
		       r == INTERPS_PLACED ? "exact" : "unknown");
}
