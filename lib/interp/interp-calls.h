#ifndef CPROF_INTERP_INTERP_CALLS_H
#define CPROF_INTERP_INTERP_CALLS_H

/*
 * Remembers which function calls which within an activation, and which are called by native code.
 * Large programs have so many stacks that most are seen once; but these consist of calls that are
 * seen often.  Where the frame of a function begins says how many bytes the frames of its callers
 * have.  If only one way of known calls has so many, these are its callers.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "interp/interp-entries.h"
#include "interp/interp-ops.h"

struct interp_base;

#define INTERP_CALLS_DEPTH 32u

struct interp_calls {
	/* Private. */
	VEC(struct interp_calls_one) v;
	struct hashindex calls, by_callee;
};
void interp_calls_done(struct interp_calls *c);
bool interp_calls_is_full(const struct interp_calls *c);

/* One of them, in the order in which they were added. */
struct interp_calls_call {
	uint32_t caller, callee;
	bool is_first;                  /* native code that caller has called from `line` has */
	uint32_t line;
};
bool interp_calls_get(const struct interp_calls *c, size_t i, struct interp_calls_call *ret);

void interp_calls_add(struct interp_calls *c, uint32_t caller, uint32_t callee);

/* Was that seen? */
bool interp_calls_has(const struct interp_calls *c, uint32_t caller, uint32_t callee);

/* Native code that base's outer function has called has called that function. */
void interp_calls_add_first(struct interp_calls *c, const struct interp_base *base,
			    uint32_t callee);

/* Was that seen? */
bool interp_calls_has_first(const struct interp_calls *c, const struct interp_base *base,
			    uint32_t callee);

/* Where frames are, as in struct interp_runtime. */
struct interp_calls_frames {
	void *ctx;
	enum interp_frames_where (*where)(void *ctx, uint32_t code, uint32_t *ret_bytes);
};

enum interp_calls_found {
	INTERP_CALLS_NONE,              /* no way of calls */
	INTERP_CALLS_ONE,
	INTERP_CALLS_SEVERAL,           /* or it would take too long to know */
};

/* The callers of a function whose frame is so many bytes after the start of its activation, *ret_n,
 * innermost first; there may be none.  They are only valid with INTERP_CALLS_ONE. */
enum interp_calls_found interp_calls_find(const struct interp_calls *c,
					  const struct interp_calls_frames *frames,
					  const struct interp_base *base, enum interp_entry entry,
					  uint32_t code, uint64_t distance,
					  struct interp_link ret[INTERP_CALLS_DEPTH],
					  size_t *ret_n);

#endif
