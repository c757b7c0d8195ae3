#ifndef CPROF_SYMBOLIZE_RUNTIME_PYTHON_THREADS_H
#define CPROF_SYMBOLIZE_RUNTIME_PYTHON_THREADS_H

/* The threads of a CPython, and the frames of one of them. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct python_program;
struct runtime_pages;

#define PYTHON_THREADS_MAX 65536u
#define PYTHON_INTERPRETERS_MAX 1024u
#define PYTHON_FRAMES_MAX 65536u        /* of a thread; deeper ones are left out */

struct python_thread {
	uint64_t at;                    /* its PyThreadState */
	uint32_t tid;                   /* as Python knows it; 0: unknown.  After fork(2) this may
					 * be its id in the parent */
	uint32_t c_tid;                 /* as the C library does, likewise */
};

struct python_threads { VEC(struct python_thread) v; };

/* False: the lists of interpreters and threads could not be read to their ends. */
bool python_threads_read(const struct python_program *p, struct runtime_pages *pages,
			 struct python_threads *ret);

/* The thread with that id in its own namespace; NULL: none. */
const struct python_thread *python_threads_find(const struct python_threads *t, uint32_t tid);

/* The thread's innermost frame now; 0: it runs no Python function.  False: it has ended, or cannot
 * be read. */
bool python_threads_frame(const struct python_program *p, struct runtime_pages *pages,
			  const struct python_thread *t, uint64_t *ret);

/* A function that is being executed. */
struct python_frame {
	uint64_t at;                    /* where it is in the program */
	uint64_t code;                  /* its code object */
	int64_t off;                    /* of the present instruction from the first, in bytes;
					 * below 0: none yet */
};

/* Frames, innermost first.  Those of one activation of the loop follow each other. */
struct python_frames {
	VEC(struct python_frame) frames;
	VEC(uint32_t) ends;             /* of each activation: the index after its last frame */
	bool is_whole;                  /* they end with the first function of the thread */
};

/* The code object of the frame at an address; false: it cannot be read. */
bool python_frames_code(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			uint64_t *ret);

/* Likewise, and the frame of the function that called it; 0: native code did.  It may be what a
 * function that has returned has left there. */
bool python_frames_trace(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			 uint64_t *ret_code, uint64_t *ret_caller);

/* The frames from the one at an address on; false: no memory. */
bool python_frames_read(const struct python_program *p, struct runtime_pages *pages, uint64_t at,
			struct python_frames *ret);
void python_frames_done(struct python_frames *f);

#endif
