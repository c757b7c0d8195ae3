#ifndef CPROF_INTERP_INTERP_SAMPLES_H
#define CPROF_INTERP_INTERP_SAMPLES_H

/*
 * The functions of an interpreter in samples of threads that run.  The innermost function of each
 * activation is in the sample itself, once it is known where (interp-learn.h).  Its callers are in
 * the copy of memory that was made at the sample, if there is one.  Otherwise they are read after
 * the sample, and believed if they lead from one activation to the next, or are remembered
 * (interp-chains.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "interp/activations.h"
#include "interp/interp.h"
#include "interp/interp-chains.h"
#include "interp/interp-kept.h"
#include "interp/interp-learn.h"
#include "interp/interp-ops.h"
#include "interp/interp-readings.h"
#include "interp/interp-shared.h"

/* How sure the functions of a sample are: that of the least sure activation. */
enum interp_quality {
	INTERP_QUALITY_EXACT,           /* read so early that they were still the same, or proven
					 * by what is remembered */
	INTERP_QUALITY_REMEMBERED,      /* the callers of one are remembered */
	INTERP_QUALITY_INNERMOST,       /* the callers of one are unknown */
	INTERP_QUALITY_UNKNOWN,         /* the innermost function is unknown */
	INTERP_QUALITIES
};

struct interp_base_head;
struct runtime_copy;

#define INTERP_SAMPLES_ROOTS 64u

struct interp_samples {
	struct interp_learn *learn;     /* borrowed */
	struct interp_shared_view shared;
	struct interp_chains chains;
	uint32_t epoch;                 /* of the runtime's functions */
	/* Private: of the present sample. */
	struct activations activations;
	struct interp_readings readings;
	const struct interp_chain *chain; /* what was read */
	struct interp_chain unread;     /* nothing */
	uint64_t root;                  /* of the thread: interp_base_root */
	bool is_copied;                 /* `chain` is that of the sample itself; */
	bool is_cut;                    /* the copy does not have all of it */
	struct { uint32_t tid; uint64_t at; } roots[INTERP_SAMPLES_ROOTS]; /* of all, by tid */
	VEC(struct interp_samples_part) part;
	VEC(struct interp_base_head) head;      /* of the parts */
};
/* learn and shared: what is known of the interpreter and of its processes' calls, and is learned
 * from these samples.  shared may be NULL. */
void interp_samples_init(struct interp_samples *s, struct interp_learn *learn,
			 struct interp_shared *shared);
void interp_samples_done(struct interp_samples *s);

/* A sample whose stack has at least one activation. */
struct interp_samples_native {
	const struct stack_regs_walk *walk; /* at its innermost frame */
	const bool *is_loop;            /* for each of the walk's frames */
	uint64_t bias;                  /* of the loop's file */
	bool is_whole;                  /* the stack reaches the thread's first function */
	uint32_t tid;
	uint64_t time_ns;
	bool may_read;                  /* otherwise callers are remembered ones */
	const struct runtime_copy *copy; /* of the thread's memory at the sample; NULL: none */
};

/* A drain begins. */
void interp_samples_renew(struct interp_samples *s, const struct interp_runtime *r,
			  uint64_t now_ns);

/* Its functions: as many activations as the stack has, and if it is not whole perhaps more. */
enum interp_quality interp_samples_read(struct interp_samples *s, const struct interp_runtime *r,
					const struct interp_samples_native *n,
					struct interp_frames *ret);

/* Keeps what the sample that was read last says, if more may be known of its functions later.
 * False: no, or no memory. */
bool interp_samples_keep(const struct interp_samples *s, const struct interp_runtime *r,
			 struct interp_kept *ret);

/* The functions of such a sample, by what is known now.  Its stack reaches the thread's first
 * function. */
enum interp_quality interp_samples_again(struct interp_samples *s, const struct interp_runtime *r,
					 const struct interp_kept *k, struct interp_frames *ret);

#endif
