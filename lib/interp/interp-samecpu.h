#ifndef CPROF_INTERP_INTERP_SAMECPU_H
#define CPROF_INTERP_INTERP_SAMECPU_H

/*
 * Moves the calling thread to the CPU of a thread that runs, which has to wait there meanwhile: its
 * memory does not change.  That costs the other thread some ten microseconds, so it is done only
 * some hundred times at first, and then for a small share of the time: for each process, and for
 * all that share `all`, which a machine may start again and again.
 */

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

struct interp_samecpu_all {
	/* Private. */
	uint64_t free_ns;
	uint32_t n;
};

struct interp_samecpu {
	struct interp_samecpu_all *all; /* may be set; borrowed */
	/* Private. */
	cpu_set_t before;
	int cpu;
	uint64_t began_ns, spent_ns, free_ns;
	uint32_t n;
};

/* False: not now, or not possible; the caller is where it was. */
bool interp_samecpu_enter(struct interp_samecpu *c, uint32_t tid);

/* The caller goes to another CPU, if it may use another one, and then it may use those that it
 * might use before. */
void interp_samecpu_leave(struct interp_samecpu *c);

#endif
