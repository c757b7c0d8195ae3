#ifndef CPROF_STACK_STACK_KNOWN_H
#define CPROF_STACK_STACK_KNOWN_H

/*
 * Which node a stack has, by a hash of all its addresses, root first.  A hash of 64 bits is treated
 * as the stack itself, as in unwind-cache.h.
 *
 * Descending through the tree of stacks waits for memory at each frame, because the place of a node
 * depends on that of its caller.  The hashes depend on the addresses only: those of all depths are
 * computed and prefetched before the first one is looked up.
 */

#include <stdint.h>

#define STACK_KNOWN_BITS 15

struct stack_known {
	struct stack_known_entry {
		uint64_t hash;
		uint32_t node;          /* 0: free */
		uint32_t count;         /* of the node's last sample, in counts: a hint */
	} *v;
};

/* The hash of the callers continued by one address. */
static inline uint64_t stack_known_hash(uint64_t callers, uint64_t pc)
{
	return ((callers << 23 | callers >> 41) ^ pc) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct stack_known_entry *stack_known_at(const struct stack_known *k, uint64_t hash)
{
	return &k->v[hash >> (64 - STACK_KNOWN_BITS)];
}

/* The node of a stack; 0, the empty stack, if it is not known. */
static inline uint32_t stack_known_get(const struct stack_known *k, uint64_t hash)
{
	const struct stack_known_entry *e = stack_known_at(k, hash);
	return e->hash == hash ? e->node : 0;
}

/* Returns the entry's count, for the caller to set. */
static inline uint32_t *stack_known_put(struct stack_known *k, uint64_t hash, uint32_t node)
{
	struct stack_known_entry *e = stack_known_at(k, hash);
	*e = (struct stack_known_entry){ hash, node, UINT32_MAX };
	return &e->count;
}

#endif
