#ifndef CPROF_SNAPSHOT_GOSTACK_H
#define CPROF_SNAPSHOT_GOSTACK_H

/* The stack of a goroutine that does not run. */

struct gocapture;
struct gocapture_goroutine;
struct gotarget;
struct procs_process;
struct snapshot;
struct snapshot_stack;

/* r is one of the capture's window, with a copy of its stack; p is the process of the target. */
void gostack_unwind(struct snapshot *s, struct procs_process *p, const struct gotarget *program,
		    const struct gocapture *capture, const struct gocapture_goroutine *r,
		    struct snapshot_stack *ret);

#endif
