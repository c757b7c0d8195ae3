#ifndef CPROF_INTERP_INTERP_TRACES_H
#define CPROF_INTERP_INTERP_TRACES_H

/*
 * Learns calls from the frames that functions have left in memory.  A reading hardly ever meets a
 * function that takes a microsecond or two, but its frame stays in memory until another one takes
 * its place.  Such a frame says which function it belonged to, and where its caller's frame is.
 * The function that is there now may be another one than the caller, so a call is only believed if
 * the frame begins where the frame of the caller ends, and if the caller's code uses the function's
 * name.
 */

#include <stdbool.h>
#include <stdint.h>

struct interp_base;
struct interp_calls;
struct interp_runtime;

/* A function has its frame at that address: learns which one it has called last, which one that has
 * called, and so on. */
void interp_traces_above(struct interp_calls *c, const struct interp_runtime *r, uint32_t code,
			 uint64_t frame);

/* A function had its frame at that address in a sample: learns which function has called it, and so
 * on; or that native code has, if the frame begins at `base`. */
void interp_traces_below(struct interp_calls *c, const struct interp_runtime *r,
			 const struct interp_base *base, uint32_t code, uint64_t frame);

/* Has a function its frame at that address, which was called by the one with that frame? */
bool interp_traces_has(const struct interp_runtime *r, uint32_t code, uint64_t frame,
		       uint64_t caller);

#endif
