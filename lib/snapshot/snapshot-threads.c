/*
 * First everything is read, then it is unwound: what takes time does not make the snapshot longer.
 */

#include "snapshot/snapshot-threads.h"

#include "base/clock.h"
#include "base/err.h"
#include "engine/engine.h"
#include "event/evattr.h"
#include "snapshot/interps.h"
#include "snapshot/refusal.h"
#include "snapshot/remaps.h"
#include "snapshot/snapshot.h"
#include "snapshot/syscalls.h"
#include "snapshot/take.h"
#include "snapshot/waiton.h"
#include "source/record.h"
#include "symbolize/arch/arch.h"

#include <errno.h>
#include <stdlib.h>

/* ---- processes ------------------------------------------------------------------------------ */

static int add_processes(struct take *t, struct err *e)
{
	for (size_t i = 0; i < t->o->n_pids; i++) {
		size_t n = t->scan.processes.n;
		int r = threadscan_add(&t->scan, t->o->pid[i]);
		if (r == -ENOMEM)
			return err_errno(e, ENOMEM, "cannot take a snapshot");
		if (r == -ESRCH)
			t->s->n_lost[SNAPSHOT_LOST_ENDED]++;
		if (r >= 0 && n < t->scan.processes.n) {
			struct threadscan_process *p = &t->scan.processes.v[n];
			p->code = remaps_read(t->s->engine, t->o->host, p->pid, &p->memory);
		}
	}
	return 0;
}

/* A process that executes programs faster than it can be read. */
#define PROGRAMS_MAX 4u

/* Reads processes again that executed another program after their mappings were read. */
static void renew_processes(struct take *t)
{
	for (size_t i = 0; i < t->scan.processes.n; i++) {
		struct threadscan_process *p = &t->scan.processes.v[i];
		for (unsigned n = 0; n < PROGRAMS_MAX && threadscan_has_executed(&t->scan, p);
		     n++) {
			threadscan_renew(&t->scan, p);
			p->code = remaps_read(t->s->engine, t->o->host, p->pid, &p->memory);
			threadscan_process_again(&t->scan, p);
		}
		if (threadscan_has_executed(&t->scan, p))
			threadscan_give_up(&t->scan, p);
	}
}

/* ---- entries -------------------------------------------------------------------------------- */

bool snapshot_threads_wants(const struct take *t, const struct threadscan_thread *thread)
{
	for (size_t i = 0; i < t->o->n_tids; i++)
		if (t->o->tid[i] == thread->tid)
			return true;
	return !t->o->tid;
}

static uint32_t string(const struct take *t, const char *text)
{
	return strtab_add_cstr(&t->s->engine->strings, text);
}

/* What does not depend on where the thread is. */
static struct snapshot_entry entry_of(const struct take *t, const struct threadscan_thread *thread,
				      const struct procs_process *p)
{
	return (struct snapshot_entry){
		.pid = p->pid, .id = thread->tid, .process_name = p->name,
		.name = string(t, thread->stat.name), .wait_ns = SNAPSHOT_WAIT_UNKNOWN,
		.stack = STACKS_EMPTY,
	};
}

void snapshot_threads_add_sampled(struct take *t, struct threadscan_thread *thread,
				  const struct record *r)
{
	struct procs_process *p = procs_process(&t->s->engine->procs,
						t->scan.processes.v[thread->process].pid);
	struct snapshot_stack stack;
	thread->is_done = true;
	if (!p || snapshot_is_short(t->s, SNAPSHOT_WAIT_UNKNOWN))
		return;
	if (!threadscan_is_same_program(&t->scan, thread)) {
		t->s->n_lost[SNAPSHOT_LOST_ENDED]++;
		return;
	}
	snapshot_unwind(t->s, p, r, &stack);
	if (take_maps_again(t, thread, &stack))
		snapshot_unwind(t->s, p, r, &stack);
	if (thread->look == THREADSCAN_ENDED) {
		t->s->n_lost[SNAPSHOT_LOST_ENDED]++;
		return;
	}
	struct snapshot_entry e = entry_of(t, thread, p);
	interps_note(t, thread, interps_look(t, thread, &stack));
	e.stack = stack.id;
	e.quality = stack.is_heuristic ? SNAPSHOT_HEURISTIC : SNAPSHOT_RUNNING;
	e.state = string(t, threadtext_state('R'));
	if (r->cpu != UINT32_MAX)
		snapshot_number(t->s, "cpu", r->cpu);
	snapshot_add(t->s, &e);
}

static void label_call(struct take *t, const struct threadscan_thread *thread)
{
	char text[WAITON_TEXT_MAX];
	const char *name = syscalls_name(thread->call.syscall);
	struct threadscan_process *p = &t->scan.processes.v[thread->process];
	if (thread->call.syscall < 0)
		return;
	if (name)
		snapshot_label(t->s, "syscall", name);
	else
		snapshot_number(t->s, "syscall", (uint64_t)thread->call.syscall);
	bool is_known = thread->look == THREADSCAN_STILL && thread->wait_on;
	snapshot_label(t->s, "wait_on", is_known ? thread->wait_on :
					waiton_text(t->o->host, p->pid, &p->memory, &thread->call,
						    text));
}

/* A thread that moves all the time may be read so often until it does not. */
#define ATTEMPTS_MAX 20u

/* The stack of a waiting thread, and its Python functions.  These, and what the first copy of a
 * stack lacks, are read later than it; if the thread has moved since, all is read again. */
static void find_stack(struct take *t, struct threadscan_thread *thread, struct procs_process *p,
		       struct snapshot_stack *ret)
{
	size_t i = (size_t)(thread - t->scan.threads.v);
	enum interps_result r = INTERPS_MOVED;
	for (unsigned n = 0; n < ATTEMPTS_MAX && r == INTERPS_MOVED; n++) {
		struct threadscan_thread before = *thread;
		if (n)
			threadscan_again(&t->scan, i);
		if (thread->look != THREADSCAN_STILL && thread->look != THREADSCAN_MOVED &&
		    thread->look != THREADSCAN_STOPPED) {
			*thread = before;
			break;
		}
		take_unwind(t, thread, threadscan_stack(&t->scan, i), p, ret);
		if (take_maps_again(t, thread, ret))
			take_unwind(t, thread, threadscan_stack(&t->scan, i), p, ret);
		r = t->has_moved ? INTERPS_MOVED : interps_place(t, thread, ret);
	}
	interps_note(t, thread, r);
}

/* How long it has been waiting. */
static uint64_t wait_of(struct take *t, const struct threadscan_thread *thread)
{
	uint64_t ns;
	bool is_known = thread->has_details && thread->has_exec_start &&
			waitclock_of(&t->clock, thread->stat.cpu, thread->exec_start_ns, &ns);
	t->knows_waits |= is_known;
	t->lacks_waits |= thread->has_details && !thread->has_exec_start;
	return is_known ? waitclock_round(ns) : SNAPSHOT_WAIT_UNKNOWN;
}

static void add_waiting(struct take *t, struct threadscan_thread *thread, struct procs_process *p)
{
	struct snapshot_entry e = entry_of(t, thread, p);
	struct snapshot_stack stack;
	if (snapshot_is_short(t->s, wait_of(t, thread)))
		return;
	find_stack(t, thread, p, &stack);
	if (thread->look == THREADSCAN_ENDED) {
		t->s->n_lost[SNAPSHOT_LOST_ENDED]++;
		return;
	}
	/* it may have moved meanwhile */
	e.wait_ns = wait_of(t, thread);
	if (snapshot_is_short(t->s, e.wait_ns))
		return;
	e.stack = stack.id;
	e.quality = stack.is_heuristic ? SNAPSHOT_HEURISTIC :
		    thread->look == THREADSCAN_STILL ? SNAPSHOT_EXACT :
		    thread->look == THREADSCAN_MOVED ? SNAPSHOT_MOVED : SNAPSHOT_RUNNING;
	e.has_runs = true;
	e.n_runs = thread->times.n_runs;
	label_call(t, thread);
	if (thread->has_details) {
		e.state = string(t, threadtext_state(thread->stat.state));
		snapshot_label(t->s, "wchan", thread->wchan);
		if (thread->stat.cpu != UINT32_MAX)
			snapshot_number(t->s, "cpu", thread->stat.cpu);
	}
	snapshot_add(t->s, &e);
}

static void add_without_stack(struct take *t, const struct threadscan_thread *thread,
			      struct procs_process *p, enum snapshot_loss why)
{
	struct snapshot_entry e = entry_of(t, thread, p);
	bool is_read = why != SNAPSHOT_LOST_DENIED && why != SNAPSHOT_LOST_UNANSWERED;
	if (is_read && snapshot_is_short(t->s, SNAPSHOT_WAIT_UNKNOWN))
		return;
	e.quality = SNAPSHOT_UNKNOWN;
	e.stack = snapshot_no_stack(t->s);
	if (thread->stat.state)
		e.state = string(t, threadtext_state(thread->stat.state));
	t->s->n_lost[why]++;
	snapshot_add(t->s, &e);
}

static void add_thread(struct take *t, size_t i)
{
	struct threadscan_thread *thread = &t->scan.threads.v[i];
	struct procs_process *p = procs_process(&t->s->engine->procs,
						t->scan.processes.v[thread->process].pid);
	if (!p || thread->stat.is_kernel)
		return;
	switch (thread->look) {
	case THREADSCAN_STILL:
	case THREADSCAN_MOVED:
	case THREADSCAN_STOPPED:
		add_waiting(t, thread, p);
		break;
	case THREADSCAN_RUNNING:
		add_without_stack(t, thread, p, SNAPSHOT_LOST_STARVED);
		break;
	case THREADSCAN_MOVING:
		add_without_stack(t, thread, p, SNAPSHOT_LOST_MOVING);
		break;
	case THREADSCAN_DENIED:
		add_without_stack(t, thread, p, SNAPSHOT_LOST_DENIED);
		break;
	case THREADSCAN_UNANSWERED:
		add_without_stack(t, thread, p, SNAPSHOT_LOST_UNANSWERED);
		break;
	case THREADSCAN_ENDED:
		t->s->n_lost[SNAPSHOT_LOST_ENDED]++;
		break;
	case THREADSCAN_UNREAD:
		t->s->n_lost[SNAPSHOT_LOST_LIMIT]++;
		break;
	}
}

static int compare_entries(const void *a, const void *b)
{
	const struct snapshot_entry *x = a, *y = b;
	if (x->pid != y->pid)
		return (x->pid > y->pid) - (x->pid < y->pid);
	return (x->id > y->id) - (x->id < y->id);
}

static void sort_entries(struct snapshot *s)
{
	if (s->entries.n)
		qsort(s->entries.v, s->entries.n, sizeof(*s->entries.v), compare_entries);
}

/* ---- all together --------------------------------------------------------------------------- */

static int take(struct take *t, struct err *e)
{
	struct snapshot *s = t->s;
	int r = add_processes(t, e);
	if (r < 0)
		return r;
	t->interps = interps_new(t);
	threadscan_open(&t->scan);
	if (threadscan_take(&t->scan) < 0)
		return err_errno(e, ENOMEM, "cannot take a snapshot");
	threadscan_details(&t->scan);
	renew_processes(t);
	s->from_ns = t->scan.from_ns;
	s->to_ns = t->scan.to_ns;
	s->n_lost[SNAPSHOT_LOST_LIMIT] += t->scan.n_beyond;
	waitclock_init(&t->clock, t->o->host, s->to_ns);
	if (take_running(t) < 0)
		return err_errno(e, ENOMEM, "cannot take a snapshot");
	for (size_t i = 0; i < t->scan.threads.n; i++)
		if (!t->scan.threads.v[i].is_done &&
		    snapshot_threads_wants(t, &t->scan.threads.v[i]))
			add_thread(t, i);
	sort_entries(s);
	if (s->min_wait_ns && t->lacks_waits && !t->knows_waits)
		return err_set(e, EOPNOTSUPP, "how long threads have been waiting is unknown: this "
			       "kernel has no /proc/PID/sched");
	return refusal_check(s, &t->scan, t->o->host, e);
}

int snapshot_threads_take(struct snapshot *s, const struct snapshot_threads *o, struct err *e)
{
	struct take t = { .s = s, .o = o };
	snapshot_begin(s);
	t.arch = s->engine->walk.user.arch;
	if (!t.arch || !evattr_place_regs(&t.regs))
		return err_set(e, EOPNOTSUPP, "cprof cannot unwind stacks of this architecture");
	while (t.arch->perf_reg[t.fp] != t.arch->fp)
		t.fp++;
	threadscan_init(&t.scan, o->host, &o->limits);
	t.scan.keepoff = o->keepoff;
	t.scan.crew.keepoff = o->keepoff;
	t.scan.crew.n_readers = o->n_readers;
	t.scan.crew.on_reader = o->on_reader;
	t.scan.crew.on_reader_ctx = o->on_reader_ctx;
	int r = take(&t, e);
	waitclock_done(&t.clock);
	interps_free(t.interps);
	threadscan_done(&t.scan);
	free(t.long_stack);
	threadstop_done(&t.stopped);
	if (r == 0)
		snapshot_count(s);
	return r;
}
