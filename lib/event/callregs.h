#ifndef CPROF_EVENT_CALLREGS_H
#define CPROF_EVENT_CALLREGS_H

/* Registers of a thread in a system call, as far as /proc/PID/task/TID/syscall shows them. */

#include <stdint.h>

#define CALLREGS_MAX 64u
#define CALLREGS_ARGS 3u

/* perf's numbers of them (asm/perf_regs.h).  An arg that is the same as result is not used. */
struct callregs_numbers {
	uint8_t sp, pc;
	uint8_t result;         /* which has the result once the call has returned */
	uint8_t arg[CALLREGS_ARGS];
};

struct callregs {
	uint64_t mask;          /* bits of perf's numbers */
	uint64_t value[CALLREGS_MAX];
};

static inline void callregs_set(struct callregs *r, uint8_t number, uint64_t value)
{
	r->mask |= UINT64_C(1) << number;
	r->value[number] = value;
}

/* The arguments of a system call are still where the program has put them.  One of them may be the
 * return address: that of vfork is nowhere else on x86-64.  A register that will have the result is
 * left out, because there the unwinder would take an argument for a result. */
static inline void callregs_set_args(struct callregs *r, const struct callregs_numbers *n,
				     const uint64_t arg[CALLREGS_ARGS])
{
	for (unsigned i = 0; i < CALLREGS_ARGS; i++)
		if (n->arg[i] != n->result)
			callregs_set(r, n->arg[i], arg[i]);
}

/* Writes the values of the mask in order of their numbers, as samples have them. */
static inline void callregs_pack(const struct callregs *r, uint64_t ret[CALLREGS_MAX])
{
	unsigned n = 0;
	for (unsigned i = 0; i < CALLREGS_MAX; i++)
		if (r->mask >> i & 1)
			ret[n++] = r->value[i];
}

#endif
