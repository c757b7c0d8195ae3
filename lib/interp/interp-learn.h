#ifndef CPROF_INTERP_INTERP_LEARN_H
#define CPROF_INTERP_INTERP_LEARN_H

/*
 * Learns where the compiled loop of an interpreter keeps its instruction and its frame, by
 * comparing what is in each place when a sample is taken with what the interpreter's memory says
 * soon afterwards.  The right place agrees often, although not always, because the program has gone
 * on.
 */

#include <stdbool.h>
#include <stdint.h>

#include "interp/activations.h"

struct interp_chains;
struct interp_runtime;

/* Of one place.  values: bits of hashes of the different values. */
struct interp_learn_place {
	uint32_t n_code, n_agree, n_frame, n_fits;
	uint64_t code_values[4], frame_values[4], fitting_values[4];
};

/* A call from the loop where the instruction is elsewhere. */
struct interp_learn_call {
	uint64_t pc;
	uint32_t n, place;              /* n: halved now and then */
	uint32_t n_hints, n_frames;     /* of n: those with a hint, and with a known frame */
	uint32_t n_seen;
	struct { uint64_t values; uint8_t n_code, n_agree, n_fits; } of[ACTIVATION_PLACES];
};

struct interp_learn {
	uint32_t instruction, frame;    /* places; ACTIVATION_NO_PLACE: not known yet */
	/* Private. */
	uint32_t n, n_next;
	uint32_t n_codes;               /* of n: the function of the sample was known */
	struct interp_learn_place *place;
	struct interp_learn_call **call;        /* by pc; NULL: free */
};
/* Begins with the places that r says. */
void interp_learn_init(struct interp_learn *l, const struct interp_runtime *r);
void interp_learn_done(struct interp_learn *l);

/* Is enough known for other processes of the same file? */
bool interp_learn_is_known(const struct interp_learn *l);

/* Takes over what was learned of the same file, if anything was: l knows nothing yet.  Later it is
 * learned anew, from its own samples. */
void interp_learn_adopt(struct interp_learn *l, const struct interp_learn *from);

/* Is more to be learned from activations? */
bool interp_learn_goes_on(const struct interp_learn *l);

/* A sample, and what is remembered. */
struct interp_learn_sample {
	const struct interp_runtime *r;
	const struct interp_chains *chains;
	const struct activations *a;
};

/* The innermost activation of a sample, which was taken just before the innermost function's frame
 * was at that address and executed that code. */
void interp_learn_add(struct interp_learn *l, const struct interp_learn_sample *s,
		      const struct activation *one, uint64_t frame, uint32_t code);

/* The function that an activation executes.  frame: what its place has, or 0.  hint: what is there
 * when memory is read, or INTERP_NO_CODE.  INTERP_NO_CODE: it is unknown. */
uint32_t interp_learn_code(struct interp_learn *l, const struct interp_learn_sample *s,
			   const struct activation *one, uint64_t frame, uint32_t hint,
			   uint32_t *ret_off);

/* The same of an earlier sample, by what is known now. */
uint32_t interp_learn_known(const struct interp_learn *l, const struct interp_learn_sample *s,
			    const struct activation *one, uint64_t frame, uint32_t *ret_off);

#endif
