#ifndef CPROF_RECORDER_KINDS_COPYSIZE_H
#define CPROF_RECORDER_KINDS_COPYSIZE_H

/*
 * How much of the user's stack each sample copies: what the observed stacks need, but in each ring
 * no more than it can carry (copyring.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/kinds/copyring.h"

struct engine;
struct log;
struct source;

/* Copies are a multiple of 8, and a record's size is a 16-bit number (perf_event_open(2)). */
#define COPYSIZE_BYTES_MAX 65528u

/* Observations so far. */
struct copysize_seen {
	uint64_t n_stacks, n_beyond;   /* stacks unwound; those that ended beyond the copy */
};

struct copysize {
	bool is_fixed;             /* chosen by the user, or cannot be changed */
	bool has_fixed_rings;      /* their size cannot be changed */
	uint32_t wanted;           /* what the stacks need */
	struct copysize_seen last;     /* at the last decision */
	struct copyring *ring;     /* one per ring, made at the first step */
	size_t n_rings;
	size_t next;               /* ring to begin the next step with */
	uint32_t n_readers;        /* at the last step */
	uint64_t due_ns;           /* of the next step */
	uint32_t bytes_min, bytes_max; /* in force: of the rings with the least and the most */
	uint32_t n_cuts;           /* times that a ring could not carry its copies */
	bool has_chain;            /* samples have the user's chain of frame pointers, too */
};

void copysize_init(struct copysize *z, uint32_t bytes, bool is_fixed);
void copysize_done(struct copysize *z);

/* The size that the observed stacks need: z->wanted or twice that, which is then wanted; but no
 * more as long as no ring has copies of the wanted size (bytes_max). */
uint32_t copysize_need(struct copysize *z, const struct copysize_seen *now);

/* Adapts the source's copies of user stacks to what the engine has observed.  Call it after the
 * rings were drained by so many readers. */
void copysize_step(struct copysize *z, struct source *s, const struct engine *g,
		   uint32_t n_readers, const struct log *log);

#endif
