#ifndef CPROF_STACK_STACK_FRAMES_H
#define CPROF_STACK_STACK_FRAMES_H

/* From the addresses of a stack to ids of frames, by a cache in struct stack_walk. */

#include "agg/frames.h"
#include "proc/procs.h"
#include "stack/stack-walk.h"

/* 16 bytes each, so that none is in two cache lines. */
struct stack_walk_cached {
	uint64_t pc;
	uint32_t serial;   /* address space; 0 for the kernel */
	uint32_t frame;    /* frames id */
};

#define STACK_FRAMES_BITS 15
#define STACK_FRAMES_ENTRIES (1u << STACK_FRAMES_BITS)

/* In place of a frame id: the address is in no mapping.  Never stored in the cache or a memo,
 * because a new mapping there does not change the space's serial. */
#define STACK_FRAMES_UNMAPPED (FRAMES_NONE - 1)

/* The place of an address in the cache. */
static inline struct stack_walk_cached *stack_frames_place(const struct stack_walk *w, uint64_t pc,
							    uint32_t serial)
{
	uint64_t key = pc + serial * UINT64_C(0xd6e8feb86659fd93);
	return &w->cache[key * UINT64_C(0x9e3779b97f4a7c15) >> (64 - STACK_FRAMES_BITS)];
}

/*
 * The frame of an address that is not in the cache, which has it afterwards, at its place c.
 * is_return: the address is the byte before one of the kernel's chain of frame pointers, which may
 * also be that of a signal trampoline.
 */
uint32_t stack_frames_look_up(struct stack_walk *w, struct procs_space *space, uint64_t pc,
			      bool is_kernel, bool is_return, struct stack_walk_cached *c);

/* The frame of an address whose place in the cache is c. */
static inline uint32_t stack_frames_in(struct stack_walk *w, struct procs_space *space, uint64_t pc,
				       bool is_kernel, bool is_return, struct stack_walk_cached *c)
{
	uint32_t serial = is_kernel ? 0 : space->serial;
	if (c->pc == pc && c->serial == serial && pc)
		return c->frame;
	return stack_frames_look_up(w, space, pc, is_kernel, is_return, c);
}

static inline uint32_t stack_frames_at(struct stack_walk *w, struct procs_space *space, uint64_t pc,
				       bool is_kernel, bool is_return)
{
	struct stack_walk_cached *c = stack_frames_place(w, pc, is_kernel ? 0 : space->serial);
	return stack_frames_in(w, space, pc, is_kernel, is_return, c);
}

/* The same for bytecode, which is in no mapping of code. */
uint32_t stack_frames_bytecode(struct stack_walk *w, struct procs_space *space, uint64_t pc,
			       struct stack_walk_cached *c);

#endif
