#ifndef CPROF_ENGINE_FUNCTIONS_KEPT_H
#define CPROF_ENGINE_FUNCTIONS_KEPT_H

/*
 * Samples whose functions are not known yet, or not their callers: cprof learns both from the first
 * samples of a process.  Such a sample is counted as it is, and moved when more is known, so that
 * none is lost.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "interp/interp-kept.h"
#include "interp/interp-samples.h"

struct budget;
struct counts;
struct functions;

struct functions_kept_sample {
	struct interp_kept kept;
	enum interp_quality quality;
	uint32_t pid;
	uint32_t number, n_replaced;    /* of its interpreter */
	uint64_t time_ns;
	/* How it was counted; without functions; labels without their quality. */
	uint32_t event, stack, labels, native, plain;
	uint64_t n, value;
};

struct functions_kept {
	struct budget *budget;          /* borrowed; NULL: nothing is kept */
	VEC(struct functions_kept_sample) v;
	size_t n_bytes;
	uint64_t next_ns, step_ns;      /* when they are tried again */
	uint32_t n_runs;                /* of the engine's tables, whose ids these are */
	/* Of the sample that is being placed: it is counted next. */
	struct functions_kept_sample present;
	bool has_present;
};
void functions_kept_done(struct functions_kept *k);

/* The present sample has been counted as that. */
void functions_kept_count(struct functions_kept *k, uint32_t event, uint32_t stack,
			  uint32_t labels, uint64_t n, uint64_t value);

/* Moves samples whose functions are known now.  is_last: all others are forgotten.  n_runs: how
 * often ids have changed. */
void functions_kept_settle(struct functions *f, struct counts *counts, uint32_t n_runs,
			   uint64_t now_ns, bool is_last);

#endif
