#ifndef CPROF_RECORDER_KINDS_COPYSIZE_H
#define CPROF_RECORDER_KINDS_COPYSIZE_H

/*
 * How much of the user's stack each sample copies: as much as the stacks need that
 * are really seen, and no more than the rings can carry.
 */

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct log;
struct source;

/* Copies are a multiple of 8, and a record's size is a 16-bit number (perf_event_open(2)). */
#define COPYSIZE_BYTES_MAX 65528u

/* What was seen so far. */
struct copysize_seen {
	uint64_t n_stacks, n_beyond;   /* stacks unwound; of them ended beyond the copy */
	uint64_t n_lost;               /* samples */
	uint64_t time_ns;              /* when this was true; not 0 */
	bool is_prompt;                /* who reads the rings does so at a real-time priority */
};

struct copysize {
	bool is_fixed;             /* chosen by the user, or cannot be changed */
	uint32_t bytes, max_bytes;
	uint64_t ring_bytes;
	struct copysize_seen last;    /* at the last decision */
	uint32_t n_changes;
	bool has_chain;            /* samples have the user's chain of frame pointers, too */
};

void copysize_init(struct copysize *z, uint32_t bytes, uint64_t ring_bytes, bool is_fixed);

/*
 * The size that stack copies should have: z->bytes, or another, which the caller sets and tells by
 * copysize_changed.  The first call begins the measuring of the rate; one that sees samples
 * already takes that for a high one.
 */
uint32_t copysize_wanted(struct copysize *z, const struct copysize_seen *now);
void copysize_changed(struct copysize *z, uint32_t bytes);

/* Changes what the source's samples hold of user stacks to what the engine has seen of them.  To be
 * called when the rings were drained; now_ns is CLOCK_MONOTONIC. */
void copysize_step(struct copysize *z, struct source *s, const struct engine *g,
		   const struct log *log, uint64_t now_ns);

#endif
