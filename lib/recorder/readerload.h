#ifndef CPROF_RECORDER_READERLOAD_H
#define CPROF_RECORDER_READERLOAD_H

/* How many readers a recording needs, by the time that they are busy. */

#include <stdint.h>

struct readerload {
	uint32_t max;                  /* set by the caller; 0 and 1: one reader in any case */
	/* Private. */
	uint64_t since_ns, busy_ns;    /* the present period */
	uint32_t n_calm;               /* periods in which fewer would have sufficed */
};

/* For a machine with that many CPUs. */
uint32_t readerload_max(uint32_t n_cpus);

/* The readers, n of them, were busy from begin_ns to end_ns.  Returns how many there should be. */
uint32_t readerload_note(struct readerload *l, uint32_t n, uint64_t begin_ns, uint64_t end_ns);

#endif
