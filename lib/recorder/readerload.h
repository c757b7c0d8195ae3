#ifndef CPROF_RECORDER_READERLOAD_H
#define CPROF_RECORDER_READERLOAD_H

/* How many readers a recording needs, by the time that they are busy and by how full rings get. */

#include <stdbool.h>
#include <stdint.h>

/* A round in which all rings were drained. */
struct readerload_round {
	uint64_t begin_ns, end_ns;     /* CLOCK_MONOTONIC */
	unsigned fullest_percent;      /* of the fullest ring, before it was drained */
	uint64_t rest_ns;              /* other work of the calling thread since the last round */
};

/* How long the readers were busy since then. */
struct readerload_span { uint64_t since_ns, busy_ns; };

struct readerload {
	uint32_t max;                  /* set by the caller; 0 and 1: one reader in any case */
	/* Private. */
	struct readerload_span brief, lasting;
	struct readerload_round last;
	uint64_t changed_ns;           /* when their number changed; 0: it has not */
	uint32_t n_calm;               /* periods in which fewer would have sufficed */
	uint32_t calm_needed;          /* of them, before there are fewer; 0: the least */
	uint64_t fewer_ns;             /* when there were last made fewer; 0: never */
};

/* For a machine with that many CPUs. */
uint32_t readerload_max(uint32_t n_cpus);

/* The readers, n of them, have completed a round.  Returns how many there should be. */
uint32_t readerload_note(struct readerload *l, uint32_t n, const struct readerload_round *round);

#endif
