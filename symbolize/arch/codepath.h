#ifndef CPROF_SYMBOLIZE_ARCH_CODEPATH_H
#define CPROF_SYMBOLIZE_ARCH_CODEPATH_H

/*
 * One path through machine code: what the stack pointer, the frame pointer and the return address
 * are at an instruction, relative to their values where the path began.  An architecture's step
 * function executes one instruction of a path; cfi-code.c follows the paths.
 */

#include <stdint.h>

enum code_base { CODE_BASE_SP, CODE_BASE_FP, CODE_BASE_SLOT, CODE_BASE_LINK, CODE_BASE_LOST };

/*
 * A value relative to the registers at the start of the path: stack or frame pointer plus off, or
 * the link register.  With CODE_BASE_SLOT it is the word at address slot_base + off.
 */
struct code_value {
	uint8_t base, slot_base;        /* enum code_base */
	int64_t off;
};

struct code_path {
	uint64_t at;                    /* the next instruction */
	uint64_t branch;                /* after CODE_BRANCH: the branch target */
	struct code_value sp, fp;
	struct code_value ra;           /* the return address */
	/* the slots that hold the initial frame pointer and link register; LOST: not stored */
	struct code_value fp_slot, ra_slot;
};

/* What an instruction does to a path. */
enum code_next {
	CODE_ON,        /* at: where execution goes on */
	CODE_BRANCH,    /* the same, but it may also go on at branch */
	CODE_RETURN,    /* sp: its value after the return; ra: the return address */
	CODE_LOST,      /* the path cannot be followed */
};

#endif
