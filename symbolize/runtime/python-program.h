#ifndef CPROF_SYMBOLIZE_RUNTIME_PYTHON_PROGRAM_H
#define CPROF_SYMBOLIZE_RUNTIME_PYTHON_PROGRAM_H

/* A running CPython: its version, where it keeps its state, and the code of its loop. */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/runtime/python-layout.h"
#include "symbolize/runtime/runtime-loop.h"

struct cfi;
struct runtime_memory;

/* The file that contains CPython, in a process.  Its symbols are exported. */
struct python_places {
	const char *path;               /* "/usr/lib/libpython3.8.so.1.0" */
	struct cfi *cfi;                /* NULL if the code is known */
	const struct python_loop_code *code; /* NULL: it must be found */
	const struct runtime_memory *memory;
	uint64_t bias;                  /* address in the process = vaddr + bias */
	uint64_t runtime;               /* vaddr of _PyRuntime */
	uint64_t code_type;             /* PyCode_Type */
	uint64_t bytes_type;            /* PyBytes_Type */
	uint64_t version;               /* Py_Version (3.11); 0: there is none */
	uint64_t loop, n_loop_bytes;    /* _PyEval_EvalFrameDefault */
	uint64_t restore, n_restore_bytes;      /* PyEval_RestoreThread; 0: there is none */
};

/* What is the same for all processes of a file. */
struct python_loop_code {
	bool is_x86_64;
	struct runtime_loop loop;
	struct runtime_range take_lock;         /* vaddr: what waits for the global lock; or 0 */
};

#define PYTHON_VERSION_BYTES 16u

struct python_program {
	char version[PYTHON_VERSION_BYTES];     /* "3.11.2"; before 3.11 "3.8"; "": unknown */
	struct python_layout layout;
	uint64_t runtime, code_type, bytes_type;        /* addresses in the process */
	struct python_loop_code code;
};

enum python_program_result {
	PYTHON_PROGRAM_OK,
	PYTHON_PROGRAM_UNREADABLE,      /* its memory cannot be read */
	PYTHON_PROGRAM_UNSUPPORTED,     /* of an unknown version; ret->version is set */
	PYTHON_PROGRAM_FREE_THREADED,   /* built without GIL: likewise */
};

/* ret holds no memory. */
enum python_program_result python_program_open(const struct python_places *from,
					       struct python_program *ret);

#endif
