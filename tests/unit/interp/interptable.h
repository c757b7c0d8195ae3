#ifndef CPROF_TESTS_INTERPTABLE_H
#define CPROF_TESTS_INTERPTABLE_H

/* An interpreter that is a table, and samples of it: see interptable_sample. */

#include "interp/interp-samples.h"

/* Function i has its instructions from here on, CODE_BYTES; its frames are at FRAME(depth). */
#define CODE(i) (0x100000u + 0x100u * (i))
#define CODE_BYTES 64u
#define FRAME(depth) (0x500000u + 0x100u * (depth))
#define CODES 8u

/* DWARF's numbers. */
enum { RBX = 3, RBP = 6, R12 = 12, R13 = 13, R14 = 14, R15 = 15 };

extern struct interp_runtime interptable;
extern bool interptable_is_moving;      /* while it is read */
extern bool interptable_is_calling;     /* the instruction is in a slot only */
extern bool interptable_is_large;       /* no function was met before */
extern bool interptable_is_unread;      /* memory may not be read */
extern bool interptable_is_stacked;     /* it is known where frames are */
extern bool interptable_is_copied;      /* a sample comes with a copy of memory, */
extern size_t interptable_n_missing;    /* which does not have that many outermost frames */
extern uint64_t interptable_stamp;      /* 1: the copy is intact */
extern uint32_t interptable_n_replaced;
extern uint64_t interptable_bias;       /* of its file, in the process */

/* Samples that are learned from for themselves. */
void interptable_begin(struct interp_samples *s);
void interptable_end(struct interp_samples *s);

/* The thread executes these functions now: digits, outermost first. */
void interptable_execute(const char *functions);

/* A sample some time ago: its loop had that function's instruction in r15, a frame in rbx, the
 * start of the function in r12, a constant frame in r13, and what is read later in rbp; the slot
 * below the CFA has the instruction of an earlier call. */
enum interp_quality interptable_sample(struct interp_samples *s, struct interp_frames *frames,
				       uint32_t function, uint32_t off, size_t depth,
				       uint64_t age_ns);

/* Takes samples until all is known of the functions "0123", "0124" and "015". */
void interptable_learn(struct interp_samples *s, struct interp_frames *frames);

#endif
