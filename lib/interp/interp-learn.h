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

#include "interp/interp-callplaces.h"
#include "interp/interp-entries.h"
#include "interp/interp-samecpu.h"

/* Of one place.  values: bits of hashes of the different values. */
struct interp_learn_place {
	uint32_t n_code, n_agree, n_frame, n_fits;
	uint64_t code_values[4], frame_values[4], fitting_values[4];
};

/* Of a place that may be the instruction's. */
#define INTERP_LEARN_PAIRS 16u
struct interp_learn_pairs {
	uint32_t place;
	uint16_t n_codes;               /* samples with a function there */
	uint16_t n_fits[ACTIVATION_PLACES];     /* those with a frame of that function in a place */
};

struct interp_learn {
	uint32_t instruction, frame;    /* places; ACTIVATION_NO_PLACE: not known yet */
	/* Private. */
	uint32_t n, n_next;
	uint32_t n_prompt;              /* of n: memory was read just after them */
	uint32_t n_late;                /* others, after many of them */
	uint32_t n_codes;               /* of n: the function of the sample was known */
	struct interp_learn_place *place;
	struct interp_learn_pairs *pairs;       /* of INTERP_LEARN_PAIRS places; NULL: none yet */
	struct interp_callplaces calls;
	struct interp_entries entries;  /* the users', and so is */
	struct interp_samecpu_all samecpu;      /* of the processes of its file */
};
/* Begins with the places that r says. */
void interp_learn_init(struct interp_learn *l, const struct interp_runtime *r);
void interp_learn_done(struct interp_learn *l);

/* Is there a place of the instruction and one of the frame? */
bool interp_learn_has_places(const struct interp_learn *l);

/* Is enough known for later recordings? */
bool interp_learn_is_known(const struct interp_learn *l);

/* Begins with those places, which an earlier recording has learned. */
void interp_learn_begin(struct interp_learn *l, uint32_t instruction, uint32_t frame);

/* Nothing more is learned of the places that all activations have. */
bool interp_learn_is_done(const struct interp_learn *l);

/* Is this activation to be learned from?  is_prompt: memory was read just after it. */
bool interp_learn_goes_on(struct interp_learn *l, bool is_prompt);

/* The innermost activation of a sample.  frame and code: those of the innermost function just
 * afterwards; 0 and INTERP_NO_CODE if they are not known. */
void interp_learn_add(struct interp_learn *l, const struct interp_place_sample *s,
		      const struct activation *one, uint64_t frame, uint32_t code);

/* The function that an activation executes.  frame: what its place has, or 0.  hint: what is there
 * when memory is read, or INTERP_NO_CODE.  INTERP_NO_CODE: it is unknown. */
uint32_t interp_learn_code(struct interp_learn *l, const struct interp_place_sample *s,
			   const struct activation *one, uint64_t frame, uint32_t hint,
			   uint32_t *ret_off);

/* The same of an earlier sample, by what is known now. */
uint32_t interp_learn_known(const struct interp_learn *l, const struct interp_place_sample *s,
			    const struct activation *one, uint64_t frame, uint32_t *ret_off);

#endif
