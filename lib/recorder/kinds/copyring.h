#ifndef CPROF_RECORDER_KINDS_COPYRING_H
#define CPROF_RECORDER_KINDS_COPYRING_H

/*
 * The size of the stack copies that go into one ring: as large as wanted, but no larger than this
 * ring can carry at its own rate, and with a reader as late as it has been lately.
 */

#include <stdbool.h>
#include <stdint.h>

#include "source/source-ring.h"

#define COPYRING_BYTES_MIN 4096u

/* One of the last two seconds. */
struct copyring_second {
	uint64_t from_ns;
	uint64_t taken_bytes;          /* at its start; then of the whole second */
	uint64_t ns;                   /* its length; 0: it goes on */
	uint64_t peak_bytes;
};

struct copyring {
	uint32_t bytes;                /* in force */
	uint64_t changed_ns;           /* when; 0: never looked */
	uint64_t hold_until_ns;        /* no growth before */
	uint64_t hold_ns;              /* how long the last back-off holds */
	uint64_t n_lost;               /* at the last look */
	uint64_t size_bytes;           /* of the ring, then; 0: never looked */
	bool is_grown;                 /* the ring cannot become larger */
	uint64_t grows_until_ns;       /* it is being replaced, perhaps until then */
	struct copyring_second now, before;
};

enum copyring_why {
	COPYRING_STAYS,
	COPYRING_GROWS,
	COPYRING_LOST,
	COPYRING_FULL,
	COPYRING_SHORT,        /* only a larger ring carries the wanted copies */
	COPYRING_BRIEF,        /* the ring fills so soon that waking its reader costs too much */
};

/* Rings become no larger than this. */
#define COPYRING_RING_BYTES_MAX (16u << 20)

/*
 * Looks at a ring, and chooses the size of its copies: *ret_bytes, which the caller puts in force
 * and confirms by copyring_changed.  A larger ring would help with LOST, FULL, SHORT and
 * BRIEF.  wanted:
 * what the stacks need.  is_prompt: the reader has a real-time priority.
 */
enum copyring_why copyring_look(struct copyring *c, const struct source_ring *seen, uint64_t now_ns,
				uint32_t wanted, bool is_prompt, uint32_t *ret_bytes);
/* From now on there are more readers, or the ring is larger: the copies may grow as soon as it
 * carries them. */
void copyring_relieved(struct copyring *c, const struct source_ring *seen, uint64_t now_ns);
void copyring_changed(struct copyring *c, const struct source_ring *seen, uint64_t now_ns,
		      uint32_t bytes);

#endif
