#ifndef CPROF_SESSION_USERSTACK_H
#define CPROF_SESSION_USERSTACK_H

/*
 * The user's part of a stack from sampled registers and a copy of the stack: hands
 * the unwinder what it needs of the session's tables, and counts how stacks end.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/symdebug.h"
#include "symbolize/unwind.h"

/* Deep recursion is seen whole as long as it fits into the stack copy, or joins. */
#define USERSTACK_DEPTH_DEFAULT 16384u

struct dso_table;
struct procs_space;
struct host;
struct jit;
struct record;

/* How the stacks of one DSO's code ended: the innermost frame's end is what counts. */
struct userstack_ends {
	uint64_t n[UNWIND_N_ENDS];
};

struct userstack {
	struct dso_table *dsos;        /* borrowed */
	struct unwind *unwind;
	enum cfi_arch arch;
	struct userstack_module {      /* by dso id */
		struct cfi *cfi;
		bool is_tried;
		struct userstack_ends ends;  /* of stacks whose outermost known frame lies in it */
	} *module;
	uint32_t n_modules;
	struct userstack_ends ends;
	uint64_t n_unsupported;        /* 32-bit code, or an architecture that is not unwound */
	uint64_t n_joined;
	struct jit *jit;               /* CFI of code without a file; borrowed; NULL: none */
	const struct host *host;       /* NULL: a replay, whose processes are gone */
	struct symdebug_place debug;   /* of debug files, for .debug_frame; host NULL: none */
	uint8_t *deep;                 /* a stack copy lengthened from the process's memory */
	uint64_t deep_ns;              /* time of the sample for which that was last done */
	uint64_t gap_ns;               /* time of the sample for which a page was made present */
	uint64_t n_deep;               /* stacks that were completed so */
};

/* host: where /proc/PID/mem of living processes is, or NULL.  max_depth: frames of one stack, 0 for
 * USERSTACK_DEPTH_DEFAULT.  machine: "x86_64", "aarch64" as uname -m says; NULL and others are not
 * unwound.  -ENOMEM. */
int userstack_init(struct userstack *u, struct dso_table *dsos, const struct host *host,
		   const char *machine, uint32_t max_depth);
void userstack_done(struct userstack *u);

/*
 * Unwinds the user part of SAMPLE r, if it has registers.  False when it cannot be (no registers,
 * 32-bit code): *ret is undefined then.  memo may be NULL.
 */
bool userstack_walk(struct userstack *u, struct procs_space *space, const struct record *r,
		    struct unwind_memo *memo, struct unwind_result *ret);

#endif
