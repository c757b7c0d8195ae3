#ifndef CPROF_BASE_ARENA_H
#define CPROF_BASE_ARENA_H

/* Memory that is freed all at once.  `struct arena_block *a = NULL;` is an empty arena. */

#include <stddef.h>

struct arena_block;

/* Zeroed memory for n items of item_bytes each, aligned to align (a power of two, at most 16).
 * NULL only when memory is out, not for n = 0. */
void *arena_alloc(struct arena_block **head, size_t n, size_t item_bytes, size_t align);

#define ARENA_NEW(head, T, n) ((T *)arena_alloc((head), (n), sizeof(T), _Alignof(T)))

/* Frees everything; head may be NULL. */
void arena_free(struct arena_block *head);

#endif
