#ifndef CPROF_TESTS_RUNTIMECHECK_H
#define CPROF_TESTS_RUNTIMECHECK_H

/* What holds for functions and frames however hostile the memory is that they were read from. */

#include "symbolize/runtime/runtime-frames.h"

#include <stdlib.h>
#include <string.h>

/* Frees the function's lines. */
static inline void runtimecheck_function(struct runtime_function *f)
{
	if (!memchr(f->name, 0, sizeof(f->name)) || !memchr(f->file, 0, sizeof(f->file)) ||
	    f->lines.n > RUNTIME_FUNCTION_LINES_MAX)
		abort();
	for (uint64_t off = 0; off < f->n_bytes && off < 4096; off += 97)
		runtime_function_line(&f->lines, off);
	free(f->lines.line);
}

static inline void runtimecheck_frames(const struct runtime_frames *f, size_t n_max)
{
	if (f->v.n > n_max)
		abort();
	for (size_t i = 0; i < f->ends.n; i++)
		if (f->ends.v[i] > f->v.n)
			abort();
}

#endif
