#ifndef CPROF_PRELOAD_ALLOC_THREAD_H
#define CPROF_PRELOAD_ALLOC_THREAD_H

/* What the library knows of each thread, so that a sample needs no system call. */

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct alloc_thread {
	uint32_t recording;        /* that `left` belongs to */
	uint64_t left;             /* bytes until the next sample; 0: not drawn */
	uint64_t drawn;            /* what it was at first */
	uint64_t passed;           /* bytes since the last block in the ring, up to this draw */
	uint64_t last;             /* the size of that block; 0: there is none */
	bool is_inherited;         /* passed has bytes of the process that has forked this one */
	uint32_t is_busy;          /* in a hook: a signal handler must not begin another */
	uint64_t random;
	uint64_t process;          /* the process that these belong to; 0: none yet */
	uint32_t pid, tid;
	uint64_t stack_low;        /* mapped from here to alloc_stack_top; 0: nothing is known */
};
extern __thread struct alloc_thread alloc_thread __attribute__((tls_model("initial-exec")));

/* Once, before the first block: how a forked child is recognised. */
void alloc_thread_open(void);

/* CLOCK_MONOTONIC.  While libraries are still being initialized (not is_loaded), without a call
 * that a sanitizer intercepts: it would call a function that it has not looked up yet. */
uint64_t alloc_thread_clock_ns(void);
extern bool alloc_thread_is_loaded;

/* The thread's state, renewed if this is its first sample in this process. */
struct alloc_thread *alloc_thread_now(void);

#pragma GCC visibility pop

#endif
