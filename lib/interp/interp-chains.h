#ifndef CPROF_INTERP_INTERP_CHAINS_H
#define CPROF_INTERP_INTERP_CHAINS_H

/*
 * Remembers the callers of functions within an activation.  They are in memory that the program
 * goes on changing, so that most readings are too late.  But programs repeat themselves: where the
 * same function with its frame at the same address was seen before, and the activation further out
 * was that of the same function with its frame at the same address, the callers are mostly the
 * same, too.
 *
 * Each reading teaches the callers of all functions in it, whatever samples there are.  Several
 * possibilities are kept for each place.  One of them is believed if it was seen more than once,
 * and nearly always.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "interp/interp-calls.h"
#include "interp/interp-ops.h"

#define INTERP_CHAINS_NONE UINT32_MAX
#define INTERP_CHAINS_SEVERAL (UINT32_MAX - 1)

struct interp_base;

/* Where a function was seen; made by interp_base_place. */
struct interp_chains_place {
	uint32_t code, outer_code;      /* the function; that of the next activation, or 0 */
	uint64_t frame, outer;          /* its frame; that of the next activation, or 0 */
};

struct interp_chains {
	/* Private. */
	VEC(struct interp_chains_node) node; /* interned: a function, and its callers */
	VEC(struct interp_chains_seen) seen;
	VEC(struct interp_chains_frame) frame;  /* where functions had their frames */
	VEC(struct interp_base_head) head;      /* of the activations that are being learned */
	struct hashindex nodes, places, frames;
	struct interp_calls calls;
	uint32_t n_clears;              /* nodes are valid until it changes */
	bool is_common;                 /* to several processes: addresses say nothing */
};
void interp_chains_done(struct interp_chains *c);

/* Is there no room for more? */
bool interp_chains_is_full(const struct interp_chains *c);

/* Forgets all. */
void interp_chains_clear(struct interp_chains *c);

/* Remembers the functions that a thread executed at one moment.  A function may be
 * INTERP_NO_CODE: it is not remembered, nor what it has called. */
void interp_chains_learn(struct interp_chains *c, const struct interp_runtime *r,
			 const struct interp_chain *chain);

/* Was the function ever seen with its frame there? */
bool interp_chains_has(const struct interp_chains *c, uint32_t code, uint64_t frame);

/* The node of n callers, innermost first, which is added if necessary; 0: none.  outer: the node of
 * the callers of the last one.  INTERP_CHAINS_NONE: no memory. */
uint32_t interp_chains_node(struct interp_chains *c, uint32_t outer,
			    const struct interp_link *link, size_t n);

/* The same, of functions whose offsets are lines; 0: unknown. */
uint32_t interp_chains_node_with_lines(struct interp_chains *c, const struct interp_link *link,
				       size_t n);

/* The callers that are believed.  INTERP_CHAINS_NONE: none are. */
uint32_t interp_chains_find(const struct interp_chains *c, const struct interp_chains_place *at);

/* Those that single calls lead to, where none are remembered (interp-calls.h).  Likewise;
 * INTERP_CHAINS_SEVERAL: there are several ways. */
uint32_t interp_chains_compose(struct interp_chains *c, const struct interp_runtime *r,
			       const struct interp_base *base, enum interp_entry entry,
			       uint32_t code, uint64_t frame);

/* A caller of a node, and those further out (0: there are none). */
struct interp_chains_caller {
	uint32_t code, off;
	bool has_off;                   /* it nearly always called from the line of that one */
	uint32_t next;
};
struct interp_chains_caller interp_chains_caller(const struct interp_chains *c, uint32_t node);

#endif
