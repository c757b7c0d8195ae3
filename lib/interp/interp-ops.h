#ifndef CPROF_INTERP_INTERP_OPS_H
#define CPROF_INTERP_INTERP_OPS_H

/*
 * What samples ask of an interpreter in a process.  The interpreter goes on running, so what it
 * says of frames is later than the sample; what it says of code is true as long as the code lives.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

/* Functions have ids, which are valid until `epoch` changes. */
#define INTERP_NO_CODE UINT32_MAX

/* A function that is being executed, as the interpreter's memory has it. */
struct interp_link {
	uint64_t at;                    /* its frame */
	uint32_t code;
	uint32_t off;                   /* of the present instruction in the code, bytes */
};

/* Functions, innermost first, with ends as in struct interp_frames. */
struct interp_chain {
	VEC(struct interp_link) link;
	VEC(uint32_t) ends;
	bool is_whole;                  /* it ends with the first function of the thread */
};

static inline void interp_chain_done(struct interp_chain *c)
{
	VEC_FREE(&c->link);
	VEC_FREE(&c->ends);
}

enum interp_frames_where {
	INTERP_FRAMES_UNKNOWN,
	INTERP_FRAMES_STACKED,          /* after so many bytes the next one begins */
	INTERP_FRAMES_ELSEWHERE,        /* that of a generator, which does not change the stack */
	INTERP_FRAMES_FIRST,            /* likewise, and no function of its activation called it */
};

/* What identifies a function in the processes of one interpreter. */
struct interp_function {
	uint32_t name;                  /* of vfuncs.h: its name, file and first line */
	uint32_t n_bytes;               /* of its instructions */
	enum interp_frames_where where;
	uint32_t n_frame_bytes;         /* with INTERP_FRAMES_STACKED */
};

/* Which functions an instruction may be of. */
enum interp_search {
	INTERP_SEARCH_KNOWN,            /* those that were met before */
	INTERP_SEARCH_NEW,              /* others, too; seldom where values were no instructions */
	INTERP_SEARCH_LIKELY,           /* others, too: it is most probably an instruction */
};

struct runtime_pages;

struct interp_runtime {
	void *ctx;
	char name[32];                  /* "python 3.11.2" */
	const char *label;              /* how sure its functions are: "py::stack" */
	const char *lock_label;         /* has it the lock: "py::gil"; NULL with is_lock_wait */
	bool has_single_frames;         /* an activation executes one function, without callers */
	/* Where its sources say that the loop keeps them (activations.h), if the compiler can do
	 * that; ACTIVATION_NO_PLACE: nowhere.  With frame_place, functions may be met by frames. */
	uint32_t instruction_place, frame_place;
	/* A drain begins: memory that was read is read again.  Returns the epoch. */
	uint32_t (*renew)(void *ctx, uint64_t now_ns);
	/* What was read of threads and frames is read again. */
	void (*forget)(void *ctx);
	/* From then on, what was read just after it is used.  NULL: nothing was. */
	void (*use_second)(void *ctx);
	/* What was read of threads and frames, which a copy can stand for; NULL: it cannot. */
	struct runtime_pages *frame_pages;
	/* The function with an instruction at that address, and the offset of the instruction that
	 * is executed when the loop has that address. */
	uint32_t (*code_of)(void *ctx, uint64_t instruction, enum interp_search how,
			    uint32_t *ret_off);
	/* The function of a frame; INTERP_NO_CODE: it is no frame. */
	uint32_t (*code_of_frame)(void *ctx, uint64_t at);
	/* Do all frames of these two functions have the same instructions? */
	bool (*is_shared)(void *ctx, uint32_t code, uint32_t other);
	/* The line of an instruction; 0: it has none. */
	uint32_t (*line)(void *ctx, uint32_t code, uint32_t off);
	/* Where the frames of a function are; *ret_bytes with INTERP_FRAMES_STACKED.  NULL: it is
	 * unknown. */
	enum interp_frames_where (*frames_where)(void *ctx, uint32_t code, uint32_t *ret_bytes);
	/* False: other processes may have another function like that.  NULL: they have nothing in
	 * common. */
	bool (*identify)(void *ctx, uint32_t code, struct interp_function *ret);
	/* A code for a function that another process has; its offsets are lines.
	 * INTERP_NO_CODE: no memory. */
	uint32_t (*code_named)(void *ctx, const struct interp_function *f);
	/* The function whose frame is, or was, at an address, and the frame of the one that has
	 * called it; 0: native code has.  False: it is no frame.  NULL: frames do not follow each
	 * other. */
	bool (*trace)(void *ctx, uint64_t at, uint32_t *ret_code, uint64_t *ret_caller);
	/* May the function call the other one, as far as its code says? */
	bool (*may_call)(void *ctx, uint32_t code, uint32_t other);
	/* The functions from a frame on.  False: it is no frame. */
	bool (*chain)(void *ctx, uint64_t at, struct interp_chain *ret);
	/* The innermost frame of a thread now; 0: none.  False: it is unknown. */
	bool (*innermost)(void *ctx, uint32_t tid, uint64_t *ret);
	/* How often a function was found where another one had been.  NULL: it is not known, so
	 * that an instruction's address says nothing about earlier samples. */
	uint32_t (*n_replaced)(void *ctx);
	/* The frame (id of the table) of a function.  has_line: off is known. */
	uint32_t (*frame)(void *ctx, uint32_t code, uint32_t off, bool has_line);
	/* That of callers that are not known. */
	uint32_t (*unknown)(void *ctx);
};

#endif
