#ifndef CPROF_SNAPSHOT_TAKE_H
#define CPROF_SNAPSHOT_TAKE_H

/* One snapshot of threads while it is taken: snapshot-threads.c, take-stack.c for their stacks, and
 * take-running.c for the threads that run or are stopped. */

#include <stdbool.h>
#include <stdint.h>

#include "event/callregs.h"
#include "snapshot/snapshot-threads.h"
#include "snapshot/threadscan.h"
#include "snapshot/threadstop.h"
#include "snapshot/waitclock.h"

struct arch;
struct procs_process;
struct interps;
struct record;
struct snapshot;
struct snapshot_stack;

struct take {
	struct snapshot *s;
	const struct snapshot_threads *o;
	struct threadscan scan;
	struct waitclock clock;
	bool knows_waits, lacks_waits;  /* of some thread that waits */
	uint8_t *long_stack;            /* THREADSCAN_STACK_BYTES_MAX; NULL: not needed yet */
	struct interps *interps;        /* NULL: no memory, or not wanted */
	bool is_long;                   /* more than the first copy was needed for the last stack */
	bool has_moved;                 /* and the thread ran before that was read */
	struct threadstop stopped;      /* see take_regs */
	const struct arch *arch;
	struct callregs_numbers regs;
	uint8_t fp;                     /* perf's number of the frame pointer */
	uint64_t value[CALLREGS_MAX];   /* of the present sample */
};

/* Is it one of those that were requested? */
bool snapshot_threads_wants(const struct take *t, const struct threadscan_thread *thread);

/* Adds the entry of a thread by a sample of it. */
void snapshot_threads_add_sampled(struct take *t, struct threadscan_thread *thread,
				  const struct record *r);

/*
 * A program maps code while it starts and by dlopen(3), so some of a stack may be in mappings that
 * are younger than those that are known.  Then adds the mappings that the process has by now, and
 * returns whether the stack is to be unwound again.  If the process has executed another program
 * since, all of its threads count as ended.
 */
bool take_maps_again(struct take *t, const struct threadscan_thread *thread,
		     const struct snapshot_stack *stack);

/* Unwinds the stack of a thread that waits or is stopped; stack is its copy in the scan. */
void take_unwind(struct take *t, const struct threadscan_thread *thread, const uint8_t *stack,
		 struct procs_process *p, struct snapshot_stack *ret);

/* Samples the threads that run, or stops those that may be stopped.  Those that do not run any more
 * are read as waiting.  -ENOMEM. */
int take_running(struct take *t);

/* All registers of a thread that was stopped; otherwise NULL. */
static inline const uint64_t *take_regs(const struct take *t,
					const struct threadscan_thread *thread)
{
	return thread->stop ? t->stopped.thread[thread->stop - 1].reg : NULL;
}

#endif
