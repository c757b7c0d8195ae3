/*
 * A function's frame has its bytecode in the copy of the stack.  An outer frame that the copy does
 * not reach was joined from the thread's previous stack (stack-user-walk.c), so it is what it was
 * then.
 */

#include "stack/stack-bytecode.h"

#include "base/hash.h"
#include "proc/jit.h"
#include "source/record.h"
#include "symbolize/runtime/runtime.h"
#include "symbolize/unwind/unwind.h"

#include <string.h>

#define WORD 8u
#define LEAST_WORDS 5u                  /* of a frame of an interpreter */

void stack_bytecode_done(struct stack_bytecode *b)
{
	VEC_FREE(&b->frames);
	VEC_FREE(&b->asked);
	VEC_FREE(&b->index);
}

/* Does the frame end with the saved frame pointer and the return address?  The caller may have
 * moved its stack pointer. */
static bool has_fp(const struct unwind_frame *f, const struct unwind_frame *caller)
{
	uint64_t cfa = f->fp + 2 * WORD;
	return f->fp % WORD == 0 && (caller->sp == cfa || runtime_is_moved_sp(caller->sp, cfa)) &&
	       f->fp - f->sp >= LEAST_WORDS * WORD;
}

/* Copies the words below the frame pointer; false: they are not in the copy of the stack. */
static bool copy_below(const struct record_sample *s, uint64_t sp, uint64_t frame_sp,
		       struct runtime_frame *f)
{
	uint64_t n = (f->fp - frame_sp) / WORD, end = f->fp - sp;
	n = n < RUNTIME_FRAME_WORDS ? n : RUNTIME_FRAME_WORDS;
	if (end > s->n_user_stack_bytes || n * WORD > end)
		return false;
	for (unsigned int i = 0; i < n; i++)
		memcpy(&f->below[i], s->user_stack + end - (i + 1) * WORD, WORD);
	return true;
}

static size_t known_slot(uint64_t serial, const struct unwind_frame *f)
{
	return hash_u64(f->sp ^ f->pc << 20 ^ serial << 40) % STACK_BYTECODE_KNOWN_N;
}

static void replace(struct stack_bytecode *b, uint32_t i, uint64_t pc)
{
	b->frames.v[i].pc = pc;
	b->frames.v[i].flags |= UNWIND_FRAME_EXACT | UNWIND_FRAME_BYTECODE;
}

/* A frame beyond the copy has not changed since it was in one. */
static void replace_joined(struct stack_bytecode *b, uint64_t serial, uint32_t i)
{
	const struct unwind_frame *f = &b->frames.v[i];
	size_t slot = known_slot(serial, f);
	if (b->known[slot].space == serial && b->known[slot].sp == f->sp &&
	    b->known[slot].pc == f->pc)
		replace(b, i, b->known[slot].found);
}

static bool copy_frames(struct stack_bytecode *b, const struct unwind_result *u)
{
	b->frames.n = b->asked.n = b->index.n = 0;
	if (!VEC_RESERVE(&b->frames, u->n) || !VEC_RESERVE(&b->asked, u->n) ||
	    !VEC_RESERVE(&b->index, u->n))
		return false;
	memcpy(b->frames.v, u->frame, u->n * sizeof(*u->frame));
	b->frames.n = u->n;
	return true;
}

static void take_answers(struct stack_bytecode *b, uint64_t serial)
{
	for (size_t k = 0; k < b->asked.n; k++) {
		const struct unwind_frame *f = &b->frames.v[b->index.v[k]];
		size_t slot = known_slot(serial, f);
		if (!b->asked.v[k].is_found)
			continue;
		b->known[slot].space = serial;
		b->known[slot].sp = f->sp;
		b->known[slot].pc = f->pc;
		b->known[slot].found = b->asked.v[k].pc;
		replace(b, b->index.v[k], b->asked.v[k].pc);
	}
}

void stack_bytecode_apply(struct stack_bytecode *b, struct jit *j, struct procs_space *space,
			  uint64_t serial, const struct record_sample *s, struct unwind_result *u)
{
	struct unwind_regs regs;
	if (!copy_frames(b, u))
		return;
	unwind_regs_from_perf(b->arch, s->user_regs_mask, s->user_regs, &regs);
	for (uint32_t i = 0; i + 1 < u->n; i++) {
		const struct unwind_frame *f = &u->frame[i];
		struct runtime_frame one = { .pc = f->pc, .fp = f->fp };
		if (!has_fp(f, f + 1))
			continue;
		one.reg = regs.r;
		one.reg_valid = i ? 0 : regs.valid;
		if (!copy_below(s, u->frame[0].sp, f->sp, &one)) {
			replace_joined(b, serial, i);
			continue;
		}
		b->asked.v[b->asked.n++] = one;
		b->index.v[b->index.n++] = i;
	}
	if (b->asked.n)
		jit_frames(j, space, b->asked.v, b->asked.n);
	take_answers(b, serial);
	u->frame = b->frames.v;
}
