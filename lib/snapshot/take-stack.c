/*
 * A stack that is longer than its copy is read again; that is the same stack if the thread has not
 * run since.
 */

#include "snapshot/take.h"

#include "engine/engine.h"
#include "event/evattr.h"
#include "snapshot/remaps.h"
#include "snapshot/snapshot.h"
#include "source/record.h"
#include "symbolize/arch/arch.h"

#include <linux/perf_event.h>
#include <stdlib.h>

static struct callregs known_of(const struct take *t, const struct threadscan_thread *thread)
{
	struct callregs k = { .mask = 0 };
	if (thread->call.syscall >= 0 && !thread->stop)
		callregs_set_args(&k, &t->regs, thread->call.arg);
	callregs_set(&k, t->regs.sp, thread->call.sp);
	callregs_set(&k, t->regs.pc, thread->call.pc);
	return k;
}

static struct record sample_of(struct take *t, const struct threadscan_thread *thread,
			       const struct callregs *known, const uint8_t *stack, uint32_t n_bytes)
{
	const uint64_t *all = known ? NULL : take_regs(t, thread);
	struct callregs own = known ? *known : known_of(t, thread);
	callregs_pack(&own, t->value);
	return (struct record){
		.type = PERF_RECORD_SAMPLE, .misc = PERF_RECORD_MISC_USER, .has_time = true,
		.time_ns = t->scan.to_ns, .pid = t->scan.processes.v[thread->process].pid,
		.tid = thread->tid, .cpu = UINT32_MAX,
		.sample = {
			.ip = own.value[t->regs.pc], .user_abi = PERF_SAMPLE_REGS_ABI_64,
			.user_regs = all ? all : t->value,
			.user_regs_mask = all ? evattr_user_regs() : own.mask,
			.user_stack = n_bytes ? stack : NULL, .n_user_stack_bytes = n_bytes,
			.user_stack_size = n_bytes,
		},
	};
}

/* Some programs jump to addresses without code. */
#define MAPS_AGAIN_MAX 8

bool take_maps_again(struct take *t, const struct threadscan_thread *thread,
		     const struct snapshot_stack *stack)
{
	struct threadscan_process *p = &t->scan.processes.v[thread->process];
	if (!stack->is_unmapped || p->n_maps_again >= MAPS_AGAIN_MAX)
		return false;
	p->n_maps_again++;
	int r = remaps_add(t->s->engine, t->o->host, p->pid);
	if (threadscan_has_same_program(&t->scan, p))
		return r == 0;
	threadscan_give_up(&t->scan, p);
	return false;
}

/* Reads the thread's memory from sp on.  The number of bytes; 0: none, or it has moved. */
static uint32_t read_long(struct take *t, const struct threadscan_thread *thread, uint64_t sp)
{
	t->is_long = true;
	if (!t->long_stack)
		t->long_stack = malloc(THREADSCAN_STACK_BYTES_MAX);
	if (!t->long_stack)
		return 0;
	uint32_t n = threadscan_memory(&t->scan, thread, sp, t->long_stack,
				       THREADSCAN_STACK_BYTES_MAX);
	t->has_moved |= !n && !thread->stop && !threadscan_is_still(&t->scan, thread);
	return n;
}

/* A handler's stack may follow another handler's. */
#define INTERRUPTED_MAX 8u

/* Unwinds the interrupted code, and joins the two stacks. */
static void unwind_interrupted(struct take *t, const struct threadscan_thread *thread,
			       struct procs_process *p, unsigned depth, struct snapshot_stack *io)
{
	struct snapshot_stack inner = *io, outer;
	struct callregs k = { .mask = 0 };
	uint32_t n = depth < INTERRUPTED_MAX ? read_long(t, thread, inner.sp) : 0;
	if (!n)
		return;
	callregs_set(&k, t->regs.sp, inner.sp);
	callregs_set(&k, t->regs.pc, inner.pc);
	callregs_set(&k, t->fp, inner.fp);
	struct record r = sample_of(t, thread, &k, t->long_stack, n);
	snapshot_unwind(t->s, p, &r, &outer);
	if (outer.is_interrupted)
		unwind_interrupted(t, thread, p, depth + 1, &outer);
	snapshot_join(t->s, &inner, &outer);
	*io = outer;
}

void take_unwind(struct take *t, const struct threadscan_thread *thread, const uint8_t *stack,
		 struct procs_process *p, struct snapshot_stack *ret)
{
	struct record r = sample_of(t, thread, NULL, stack, thread->n_stack_bytes);
	t->is_long = t->has_moved = false;
	/* as long as the thread waits; a stopped one goes on before names are read */
	t->s->engine->jit.is_alive = !thread->stop;
	snapshot_unwind(t->s, p, &r, ret);
	uint32_t n = ret->is_short && !ret->is_interrupted ?
		     read_long(t, thread, thread->call.sp) : 0;
	if (n > thread->n_stack_bytes) {
		r = sample_of(t, thread, NULL, t->long_stack, n);
		snapshot_unwind(t->s, p, &r, ret);
	}
	if (ret->is_interrupted)
		unwind_interrupted(t, thread, p, 0, ret);
	/* After a stop, a thread that waits has returned to its call, but that is not checked. */
	ret->is_heuristic |= thread->stop && t->is_long;
}
