#ifndef CPROF_SNAPSHOT_GOCAPTURE_H
#define CPROF_SNAPSHOT_GOCAPTURE_H

/*
 * Copies of a Go program's goroutines and of their stacks, while it goes on running.  Goroutines
 * that have not moved while they were read are as they were at one common instant; others are read
 * again, one at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "symbolize/runtime/go-layout.h"

struct runtime_memory;
struct go_program;

enum gocapture_how {
	GOCAPTURE_STEADY,               /* it did not move during the whole window */
	GOCAPTURE_AGAIN,                /* it did, but not while it was read again */
	GOCAPTURE_RUNNING,              /* it runs on a thread: no stack */
	GOCAPTURE_MOVING,               /* it moved each time: no stack */
	GOCAPTURE_ENDED,                /* it ended meanwhile: nothing is known about it */
};

#define GOCAPTURE_NO_LABELS UINT32_MAX

struct gocapture_goroutine {
	struct go_g g;
	uint64_t at;                    /* address of g */
	size_t stack_off;               /* in stacks: from g.sp upwards */
	uint32_t n_stack_bytes;
	uint32_t labels;                /* index of its labels, or GOCAPTURE_NO_LABELS */
	uint32_t tid;                   /* of the thread that it is on, or bound to; 0: none */
	uint64_t bubble;                /* number of its synctest bubble; 0: none */
	uint8_t how;                    /* enum gocapture_how */
	bool is_cut;                    /* the stack is longer than the copy */
	uint64_t time_ns;               /* CLOCK_MONOTONIC: when its stack was read */
};

/* n pairs of texts that end with NUL, key and value, from text.v + off on. */
struct gocapture_labels {
	uint64_t at;                    /* their address in the program */
	size_t off;
	uint32_t n;
};

struct gocapture {
	/* Results: the goroutines of a window. */
	VEC(struct gocapture_goroutine) goroutines;
	VEC(uint8_t) stacks;
	VEC(struct gocapture_labels) labels;
	VEC(char) text;
	uint64_t from_ns, to_ns;        /* of all windows */
	uint64_t n_windows;
	uint64_t n_total;               /* in the list, including those that have ended */
	uint64_t n_left_out;            /* beyond the limit */
	uint64_t n_moved;               /* not in the same state at both ends of their window */
	uint64_t n_bad_labels;          /* goroutines whose labels could not be read */
	/* Is a goroutine that lives, as it is read first, part of the window?  NULL: each is. */
	bool (*is_wanted)(void *ctx, const struct go_g *g);
	void *wanted_ctx;
	/* Limits; 0: the default. */
	uint64_t max_goroutines, max_stack_bytes, max_window_bytes;
	/* Private. */
	const struct go_program *program;
	const struct runtime_memory *memory;
	VEC(uint64_t) list;             /* addresses of all goroutines */
	size_t next;                    /* the first one that no window has had */
	uint64_t deadline_ns;           /* for goroutines that keep moving */
	uint8_t *raw;                   /* of a batch */
};

#define GOCAPTURE_GOROUTINES_DEFAULT 1000000u
#define GOCAPTURE_STACK_BYTES_DEFAULT (1u << 20)        /* of one goroutine */
#define GOCAPTURE_WINDOW_BYTES_DEFAULT (80u << 20)      /* stacks of a window */

/* Reads the list; both are borrowed until gocapture_done.  c has only limits and
 * is_wanted, or is all zero.  0;
 * -ENOMEM; -EFAULT: the list cannot be read, or not any more. */
int gocapture_begin(struct gocapture *c, const struct go_program *program,
		    const struct runtime_memory *memory);
void gocapture_done(struct gocapture *c);

/* Reads the goroutines of the next window, usually all of them, in place of the last one's.  1;
 * 0: there are no more; -ENOMEM; -ESRCH: the program has ended. */
int gocapture_next(struct gocapture *c);

/* Reads goroutine i of the window again, which may have left its thread.  -ENOMEM. */
int gocapture_again(struct gocapture *c, size_t i);

#endif
