#ifndef CPROF_INTERP_INTERP_PYTHON_PRIVATE_H
#define CPROF_INTERP_INTERP_PYTHON_PRIVATE_H

/* Shared by the files of interp-python.h. */

#include "interp/interp.h"
#include "interp/interp-ops.h"
#include "interp/pycodes.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/runtime/python-program.h"
#include "symbolize/runtime/python-threads.h"
#include "symbolize/runtime/runtime-memory.h"
#include "symbolize/runtime/runtime-pages.h"

struct interp_python {
	struct interp_tables t;
	uint32_t tid;                   /* a living thread of the process */
	uint32_t pid, dso;              /* of its functions */
	uint64_t start;                 /* of the mapping of its file */
	int code;                       /* why memory could not be read, -errno; 0: it could */
	struct cfi *cfi;                /* NULL after interp_python_open */
	struct symelf elf;              /* names of native functions */
	bool has_elf, is_other_namespace;
	struct runtime_memory memory;
	struct runtime_pages pages;
	struct python_program program;
	struct python_threads threads;
	struct python_frames frames;    /* of the present thread */
	struct pycodes codes;
	struct interp_code interp;
	struct interp_runtime runtime;  /* interp-pysamples.c */
};

/* Functions get a DSO, which may have been collected since it was used last; -ENOMEM. */
int interp_python_set_dso(struct interp_python *p);

/* The innermost frame of a thread, by its id in its own namespace; 0: it has none.  False: it is
 * unknown. */
bool interp_python_innermost(struct interp_python *p, uint32_t tid, uint64_t *ret);

/* The frame of a function at an instruction, or without a line.  FRAMES_NONE: no memory. */
uint32_t interp_python_frame(struct interp_python *p, uint32_t code, int64_t off, bool has_line);

#endif
