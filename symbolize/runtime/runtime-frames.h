#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_FRAMES_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_FRAMES_H

/* The functions that an interpreter executes in a thread, as its memory has them. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

#define RUNTIME_FRAMES_MAX 65536u       /* of a thread; deeper ones are left out */

struct runtime_frame {
	uint64_t at;                    /* where it is in the program */
	uint64_t code;                  /* what describes its function, likewise */
	uint64_t instruction;           /* likewise */
};

/* Frames, innermost first.  Those of one activation of the loop follow each other. */
struct runtime_frames {
	VEC(struct runtime_frame) v;
	VEC(uint32_t) ends;             /* of each activation: the index after its last frame */
	bool is_whole;                  /* they end with the first function of the thread */
};

static inline void runtime_frames_done(struct runtime_frames *f)
{
	VEC_FREE(&f->v);
	VEC_FREE(&f->ends);
}

/* A function, as what describes it says. */
#define RUNTIME_FUNCTION_TEXT_BYTES 1024u       /* longer names and paths are cut */
#define RUNTIME_FUNCTION_LINES_MAX 65536u       /* instructions after these have no lines */
#define RUNTIME_FUNCTION_WORDS 9u

/* What identifies it: its address may be reused for another one. */
struct runtime_function_key { uint64_t word[RUNTIME_FUNCTION_WORDS]; };

struct runtime_function {
	char name[RUNTIME_FUNCTION_TEXT_BYTES]; /* UTF-8 */
	char file[RUNTIME_FUNCTION_TEXT_BYTES];
	uint32_t first_line;
	uint64_t start, n_bytes;        /* its instructions */
	struct runtime_function_lines {
		uint32_t *line;         /* by number of the instruction; NULL: unknown */
		uint32_t n;
		uint32_t bytes;         /* of an instruction */
	} lines;
};

/* The line of the instruction that is `off` bytes from the start; 0: it is unknown. */
static inline uint32_t runtime_function_line(const struct runtime_function_lines *l, uint64_t off)
{
	return l->bytes && off / l->bytes < l->n ? l->line[off / l->bytes] : 0;
}

#endif
