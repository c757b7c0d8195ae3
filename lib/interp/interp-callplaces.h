#ifndef CPROF_INTERP_INTERP_CALLPLACES_H
#define CPROF_INTERP_INTERP_CALLPLACES_H

/*
 * Around some calls from its loop, a compiler keeps an interpreter's instruction elsewhere than in
 * the rest of the loop.  The place is learned for each such call.
 */

#include <stddef.h>

#include "interp/interp-place.h"

#define INTERP_CALLPLACES_MAX 1024u     /* a power of two: loops have some hundreds */

struct interp_callplaces {
	/* Private. */
	struct interp_callplaces_one **call;    /* by pc; NULL: free */
};
void interp_callplaces_done(struct interp_callplaces *l);

/* Forgets all calls. */
void interp_callplaces_clear(struct interp_callplaces *l);

/* Forgets what was learned from frames: they are in another place. */
void interp_callplaces_forget_frames(struct interp_callplaces *l);

/* A call whose place is known well enough for later recordings. */
struct interp_callplaces_known { uint64_t pc; uint32_t place, unused; };

/* Lists them in ret[INTERP_CALLPLACES_MAX]; returns how many there are. */
size_t interp_callplaces_list(const struct interp_callplaces *l,
			      struct interp_callplaces_known *ret);

/* The place of a call, until enough samples have it. */
void interp_callplaces_put(struct interp_callplaces *l, const struct interp_callplaces_known *c);

/* An activation that is calling.  frame: its own one, or 0.  hint: the function that is there when
 * memory is read, or INTERP_NO_CODE. */
void interp_callplaces_learn(struct interp_callplaces *l, const struct interp_place_sample *s,
			     const struct activation *one, uint64_t frame, uint32_t hint);

/* Is the place of that call known? */
bool interp_callplaces_has(const struct interp_callplaces *l, uint64_t pc);

/* The function that the place of its call says; if that is not known, that of the nearest call,
 * provided that it fits the frame.  INTERP_NO_CODE: it is unknown. */
uint32_t interp_callplaces_code(const struct interp_callplaces *l,
				const struct interp_place_sample *s, const struct activation *one,
				uint64_t frame, uint32_t *ret_off);

#endif
