#ifndef CPROF_INTERP_INTERP_READINGS_H
#define CPROF_INTERP_INTERP_READINGS_H

/*
 * The functions of threads, as they are in the memory of a program that goes on running: once per
 * thread in each drain.  A reading takes some microseconds, in which the program calls functions
 * and returns.  So each is made twice, and those functions are kept that both have, from the
 * outermost one on: these were executed in between.  Functions may be so short that these are few:
 * some readings are made on the CPU of the thread, which waits meanwhile (interp-samecpu.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "interp/interp-ops.h"
#include "interp/interp-samecpu.h"

struct interp_chains;
struct runtime_copy;

/* Threads that are read once per drain, if there are no more. */
#define INTERP_READINGS_THREADS 8u

struct interp_readings {
	struct interp_reading {
		uint32_t tid;
		struct interp_chain chain;      /* empty: it could not be read */
		bool has_innermost;     /* nothing changed while it was read */
		bool is_new;            /* it was not asked for before */
	} thread[INTERP_READINGS_THREADS];
	uint32_t n;
	/* Private. */
	struct interp_reading copied;
	struct interp_chain first, second;
	struct interp_samecpu cpu;
};
void interp_readings_done(struct interp_readings *s);

/* A drain begins. */
void interp_readings_renew(struct interp_readings *s);

/* The functions of a thread; those of a new reading are learned.  Borrowed until the next call.
 * n_tries, at least 1: until nothing has changed meanwhile. */
const struct interp_reading *interp_readings_of(struct interp_readings *s,
						const struct interp_runtime *r,
						struct interp_chains *chains, uint32_t tid,
						unsigned int n_tries);

/* The same from a copy that was made at the sample, which stays in use if the answer is not NULL.
 * The copy may not have all of them: then the chain is not whole.  is_learned: whole ones are
 * learned.  NULL: it has none, or is overwritten. */
const struct interp_reading *interp_readings_copied(struct interp_readings *s,
						    const struct interp_runtime *r,
						    struct interp_chains *chains, uint32_t tid,
						    const struct runtime_copy *copy,
						    bool is_learned);

#endif
