#ifndef CPROF_ENGINE_WAITS_CUT_H
#define CPROF_ENGINE_WAITS_CUT_H

/*
 * The sample of a wait whose stack is longer than its copy.  No part of the stack changes until the
 * thread runs again, so it can be unwound once more from these registers and from memory.  For a
 * thread that was preempted it is the only way: /proc shows no registers of it.
 */

#include <stdbool.h>
#include <stdint.h>

struct budget;
struct record;

struct waits_cut {
	uint64_t ip, mask;     /* as in struct record_sample */
	uint16_t misc;
	uint32_t n_regs, n_chain, cap;
	uint64_t word[];       /* private: registers, then the kernel's part of the callchain */
};

/* Keeps what is needed of SAMPLE r in *c, which is NULL at first.  False: r has no registers, or
 * there is no memory. */
bool waits_cut_keep(struct waits_cut **c, struct budget *budget, const struct record *r);

/* The stack pointer, which is that bit of perf's registers. */
uint64_t waits_cut_sp(const struct waits_cut *c, unsigned sp);

/* Sets the registers, the kernel's part of the stack, and what follows from them, in SAMPLE r,
 * which borrows them. */
void waits_cut_use(const struct waits_cut *c, struct record *r);

/* c may be NULL. */
void waits_cut_free(struct waits_cut *c, struct budget *budget);

#endif
