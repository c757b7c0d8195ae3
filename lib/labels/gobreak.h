#ifndef CPROF_LABELS_GOBREAK_H
#define CPROF_LABELS_GOBREAK_H

/*
 * Reports when goroutines change their labels, at that moment: a perf event with a hardware
 * breakpoint at the entry of the function that does it, runtime/pprof.runtime_setProfLabel, on each
 * thread of a program.  Neither the program's code nor its threads' debug state as ptrace(2) shows
 * it changes.  It needs one of the CPU's debug registers (four on x86-64), and no privilege for
 * one's own processes.  A second breakpoint can report when goroutines are created, gobirth.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "event/evopen.h"
#include "source/ring.h"

struct arch;
struct host;

#define GOBREAK_WHY_BYTES 160u

struct gobreak {
	evopen_fn *open;           /* NULL: there are no perf events */
	const struct host *host;   /* borrowed */
	const struct arch *arch;
	char why[GOBREAK_WHY_BYTES]; /* why the last attempt failed; "" */
	uint64_t cost_ns;          /* of one change, for the program */
	uint64_t n_lost;           /* changes, for lack of room */
	/* private */
	bool is_tried;
	struct gobreak_ring { struct ring ring; int fd, cpu; } *ring;
	size_t n_rings;
};

struct gobreak_events {            /* of one process; all zero: none */
	VEC(int) fd;
};

void gobreak_init(struct gobreak *b, evopen_fn *open, const struct host *host,
		  const struct arch *arch);
void gobreak_done(struct gobreak *b);

#define GOBREAK_STACK_BYTES 256u   /* the most that a breakpoint reports */

/* Sets breakpoints at that address on all threads of process pid, and on those that they create.
 * n_stack_bytes of the stack are reported, a multiple of 8.  False: why is set, and there is no
 * breakpoint. */
bool gobreak_open(struct gobreak *b, uint32_t pid, uint64_t address, unsigned int n_stack_bytes,
		  struct gobreak_events *ret);
void gobreak_close(struct gobreak_events *e);

/* A thread is at a breakpoint now; at that of changes, a goroutine gets other labels. */
struct gobreak_hit {
	uint32_t pid;
	uint64_t at;               /* the breakpoint */
	uint64_t time_ns, g;       /* address of its g */
	uint64_t labels;           /* the first argument: the address of the labels */
	uint64_t sp;               /* the stack pointer */
	const uint64_t *stack;     /* n_words from sp on */
	size_t n_words;
};
typedef void gobreak_change(void *ctx, const struct gobreak_hit *hit);

/* Reports all changes up to now; those of one goroutine are in order. */
void gobreak_drain(struct gobreak *b, gobreak_change *change, void *ctx);

#endif
