#include "base/arena.h"

#include <stdint.h>
#include <stdlib.h>

#define ARENA_BLOCK_BYTES (64u * 1024)

/* New memory comes from the first block of the list. */
struct arena_block {
	struct arena_block *next;
	size_t used, size;
	_Alignas(16) char data[];
};

void arena_free(struct arena_block *head)
{
	while (head) {
		struct arena_block *next = head->next;
		free(head);
		head = next;
	}
}

void *arena_alloc(struct arena_block **head, size_t n, size_t item_bytes, size_t align)
{
	size_t size;
	if (__builtin_mul_overflow(n, item_bytes, &size) || size > SIZE_MAX / 2)
		return NULL;
	struct arena_block *b = *head;
	size_t used = b ? (b->used + align - 1) & ~(align - 1) : 0;
	if (!b || used > b->size || b->size - used < size) {
		size_t block_size = size > ARENA_BLOCK_BYTES ? size : ARENA_BLOCK_BYTES;
		b = calloc(1, sizeof(*b) + block_size);
		if (!b)
			return NULL;
		b->size = block_size;
		b->next = *head;
		*head = b;
		used = 0;
	}
	b->used = used + size;
	return b->data + used;
}
