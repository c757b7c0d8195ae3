#ifndef CPROF_RECORDER_KINDS_KIND_ALLOC_H
#define CPROF_RECORDER_KINDS_KIND_ALLOC_H

/* What the kinds alloc and heap keep beside the CPU kind's state: kind-alloc.c. */

#include "base/err.h"
#include "engine/allocs.h"
#include "recorder/kinds/allocrings.h"
#include "recorder/kinds/alloctotal.h"

#define KIND_ALLOC_LIMBO 16u

/* A block that was freed in a realloc(3) which may fail yet. */
struct kind_alloc_limbo {
	uint32_t tid;
	uint32_t n_runs;           /* of the collections of tables: later ones change its ids */
	struct allocs_block block;
};

struct kind_alloc {
	struct allocrings rings;
	struct err no_probes;      /* why they cannot be used; code 0: no reason */
	bool is_probe_ignored;     /* of a process with the library: it was reported */
	bool is_heap;
	bool has_peak, peak_began; /* it is shown; the profile has begun, after a delay */
	uint64_t mean;             /* bytes between two samples */
	struct alloctotal total;
	struct kind_alloc_limbo limbo[KIND_ALLOC_LIMBO];
	unsigned next_limbo;
	uint64_t n_taken;          /* records so far; they set when the next reading is due: */
	uint64_t read_ns;
	int notice_ms;
	bool is_program_due;       /* the command has called exec */
	char program[256];         /* its file; "": unknown */
};

#endif
