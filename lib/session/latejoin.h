#ifndef CPROF_SESSION_LATEJOIN_H
#define CPROF_SESSION_LATEJOIN_H

/*
 * Stacks that ended beyond their copy, before the thread's memo knew how they go on: the next whole
 * stack of the thread tells it.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "session/stackmark.h"

struct budget;
struct counts;
struct procs_space;
struct stackwalk;
struct unwind_memo;

/* So many stacks of a thread wait at most, and none for longer. */
#define LATEJOIN_CUTS_MAX 256u
#define LATEJOIN_NS_MAX 250000000u

/* A counted sample whose stack was cut. */
struct latejoin_cut {
	uint64_t time_ns, value;
	uint64_t pc;            /* an address in the outermost function that is known */
	uint64_t cfa;           /* the stack pointer of the frame that called it */
	uint32_t event, stack, labels;
	uint32_t plain_labels;  /* the same without that of mark */
	struct stackmark mark;
	bool is_beyond;         /* as counted: n_truncated, else n_cut of struct stackwalk_stats */
};

/* One per thread; zeroed at first. */
struct latejoin {
	struct latejoin_cut *cut;
	uint32_t n;
};
void latejoin_done(struct latejoin *l);
size_t latejoin_bytes(const struct latejoin *l);

/* The label set with that of mark; ctx is what latejoin_complete was given. */
typedef uint32_t latejoin_label(void *ctx, uint32_t plain_labels, const struct stackmark *mark);

/* Remembers cut; the oldest is forgotten when there are too many.  Without memory nothing is. */
void latejoin_note(struct latejoin *l, const struct latejoin_cut *cut);

/*
 * memo holds a whole stack, its caller_id set, of a sample of that time.  Counts each cut sample
 * that it completes for the completed stack instead, and forgets it; and those that waited too
 * long.  Returns how many were completed; w's counters are those of the completed stacks then.
 */
uint32_t latejoin_complete(struct latejoin *l, struct stackwalk *w, struct procs_space *space,
			   const struct unwind_memo *memo, uint64_t time_ns,
			   struct counts *counts, latejoin_label *label, void *ctx);

#endif
