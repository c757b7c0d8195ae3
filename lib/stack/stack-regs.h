#ifndef CPROF_STACK_STACK_REGS_H
#define CPROF_STACK_STACK_REGS_H

/*
 * The callee-saved registers of the frames of a stack that was unwound already.  The unwinder keeps
 * three registers of each frame only, because most stacks need no others.
 */

#include <stdbool.h>
#include <stdint.h>

#include "symbolize/unwind/unwind.h"

struct procs_space;
struct record;
struct stack_user;

/* How many registers an architecture has callees save, at most. */
#define STACK_REGS_SAVED_MAX 12u

struct stack_regs {
	/* Private: which slots hold them, by the address in its file. */
	struct stack_regs_rule {
		uint64_t vaddr;
		uint32_t dso_serial;            /* 0: no rule */
		int16_t off8[STACK_REGS_SAVED_MAX]; /* from the CFA; see stack-regs.c */
	} *rule;
};
void stack_regs_done(struct stack_regs *s);

/* A stack, whose frames are visited one after the other, innermost first. */
struct stack_regs_walk {
	struct stack_regs *rules;       /* borrowed, like the following */
	struct stack_user *user;
	struct procs_space *space;
	const struct unwind_frame *frame;
	uint32_t n, i;                  /* of the frames; the present one */
	struct unwind_regs regs;        /* of the present frame: those that are known */
	uint64_t stack_at, n_stack_bytes; /* the copy of the stack */
	const uint8_t *stack;
};

/* Starts at the innermost frame.  r is the SAMPLE that the n frames were unwound from.  False: it
 * has no registers. */
bool stack_regs_begin(struct stack_regs_walk *w, struct stack_regs *rules, struct stack_user *u,
		      struct procs_space *space, const struct record *r,
		      const struct unwind_frame *frame, uint32_t n);

/* Goes on to the caller; there must be one. */
void stack_regs_next(struct stack_regs_walk *w);

/* A word of the stack; false: the copy does not contain it. */
static inline bool stack_regs_load(const struct stack_regs_walk *w, uint64_t at, uint64_t *ret)
{
	uint64_t off = at - w->stack_at;
	if (off >= w->n_stack_bytes || w->n_stack_bytes - off < sizeof(*ret))
		return false;
	__builtin_memcpy(ret, w->stack + off, sizeof(*ret));
	return true;
}

#endif
