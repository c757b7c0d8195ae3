#ifndef CPROF_PROFILE_WAITLABEL_H
#define CPROF_PROFILE_WAITLABEL_H

/* The labels idle and wait, which follow from the names of a wait's frames. */

#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/waitframes.h"

struct engine;
struct label;
struct names;

/* Of a stack in which a thread of that name waits; NULL: none. */
const struct waitframes_label *waitlabel_of_stack(const struct engine *g,
						  const struct names *names, uint32_t stack,
						  const char *thread);

/* The label of the previous stack.  Samples come in the order of their stacks, and thousands of
 * threads may wait in one. */
struct waitlabel_last {
	uint32_t stack;              /* STACKS_NONE at first */
	const char *thread;
	const struct waitframes_label *label;
};

/* Of a stack of a profile of waits, with the n labels that the sample has.  NULL: none, because
 * nothing is known, the thread runs or wants to run, or it has a label with that key already. */
const struct waitframes_label *waitlabel_find(const struct engine *g, const struct names *names,
					      struct waitlabel_last *last, uint32_t stack,
					      const struct label *set, size_t n);

#endif
