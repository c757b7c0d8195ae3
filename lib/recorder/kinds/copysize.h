#ifndef CPROF_RECORDER_KINDS_COPYSIZE_H
#define CPROF_RECORDER_KINDS_COPYSIZE_H

/*
 * How much of the user's stack each sample copies: what the observed stacks need, but no more than
 * the rings can carry.
 */

#include <stdbool.h>
#include <stdint.h>

struct engine;
struct log;
struct source;

/* Copies are a multiple of 8, and a record's size is a 16-bit number (perf_event_open(2)). */
#define COPYSIZE_BYTES_MAX 65528u

/* Observations so far. */
struct copysize_seen {
	uint64_t n_stacks, n_beyond;   /* stacks unwound; those that ended beyond the copy */
	uint64_t n_lost;               /* samples */
	uint64_t time_ns;              /* of the observation; not 0 */
	bool is_prompt;                /* the reader of the rings has a real-time priority */
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
 * The size that stack copies should have: z->bytes or another one, which the caller sets and
 * confirms by copysize_changed.  The first call starts measuring the sample rate; if there are
 * samples already, the rate is treated as high.
 */
uint32_t copysize_wanted(struct copysize *z, const struct copysize_seen *now);
void copysize_changed(struct copysize *z, uint32_t bytes);

/* Adapts the source's copies of user stacks to what the engine has observed.  Call it after the
 * rings were drained; now_ns is CLOCK_MONOTONIC. */
void copysize_step(struct copysize *z, struct source *s, const struct engine *g,
		   const struct log *log, uint64_t now_ns);

#endif
