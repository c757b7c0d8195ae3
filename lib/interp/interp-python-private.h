#ifndef CPROF_INTERP_INTERP_PYTHON_PRIVATE_H
#define CPROF_INTERP_INTERP_PYTHON_PRIVATE_H

/* Shared by the files of CPython. */

#include "interp/interp-language.h"
#include "interp/pycodes.h"
#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/python-threads.h"

#define INTERP_PYTHON_CALLS 1024u

struct python {
	struct interp_process base;
	struct python_program program;
	struct python_threads threads;
	struct runtime_pages frame_pages; /* threads and frames, for samples */
	struct python_frames frames;    /* of the present thread */
	struct pycodes codes;
	/* whether functions may call others: what was asked last; by their ids + 1 */
	struct { uint32_t code, other; bool may; } may_call[INTERP_PYTHON_CALLS];
	uint32_t n_fits, n_misfits;     /* frames that begin where the one before ends */
};

/* Sets base.ops (interp-pysamples.c). */
void interp_python_set_runtime(struct python *p);

/* The innermost frame of a thread, by its id in its own namespace; 0: it has none.  False: it is
 * unknown. */
bool interp_python_innermost(struct python *p, struct runtime_pages *pages, uint32_t tid,
			     uint64_t *ret);

/* The frame of a function at an instruction, or without a line.  FRAMES_NONE: no memory. */
uint32_t interp_python_frame(struct python *p, uint32_t code, int64_t off, bool has_line);

#endif
