#ifndef CPROF_ENGINE_FUNCTIONS_PACE_H
#define CPROF_ENGINE_FUNCTIONS_PACE_H

/*
 * When the samples of interpreters should be read.  The callers of functions are read from the
 * program's memory: at once after a sample these are the right ones, but waking up for it costs
 * more than all else that is done with a sample.  So the callers are mostly remembered ones
 * (interp-chains.h), and few readings are needed once they are known.
 */

#include <stdbool.h>
#include <stdint.h>

struct functions_pace {
	uint64_t step_ns;               /* the shortest time to the next reading; 0: none yet */
	uint64_t n_wakeups;
	bool is_frugal;                 /* may be set: unknown callers are no reason for more */
	/* Private. */
	uint64_t period_ns;             /* between two samples of a thread; 0: unknown */
	uint64_t sampled_ns, seen_ns;   /* the last sample's time, and that at the last wake-up */
	uint64_t read_ns;               /* the last drain with readings */
	uint32_t n_slots;               /* for copies; 0: there are none */
	uint32_t sampled_tid, n_missed; /* its thread; wake-ups since then without a sample */
	uint32_t unsure;                /* the share of recent samples without callers, of 65536 */
	uint32_t credit;                /* for wake-ups, in parts of a sample's share */
};
void functions_pace_init(struct functions_pace *p);

/* From now on memory is copied at the samples of a CPU into so many slots in turn.  Then frugal
 * ones wait for no sample. */
void functions_pace_use_copies(struct functions_pace *p, uint32_t n_slots);

/* A sample of a thread with functions.  is_unsure: some are unknown. */
void functions_pace_note(struct functions_pace *p, uint32_t tid, uint64_t time_ns, bool is_unsure);

/* A drain begins.  Should callers be read from memory in it?  Otherwise remembered ones will do. */
bool functions_pace_reads(struct functions_pace *p, uint64_t now_ns);

/* All samples were read.  When they should be read again, by CLOCK_MONOTONIC; UINT64_MAX: at any
 * time. */
uint64_t functions_pace_due_ns(struct functions_pace *p, uint64_t now_ns);

#endif
