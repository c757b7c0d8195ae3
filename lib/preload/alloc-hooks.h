#ifndef CPROF_PRELOAD_ALLOC_HOOKS_H
#define CPROF_PRELOAD_ALLOC_HOOKS_H

#include <stddef.h>

#if defined(__x86_64__)
#define ALLOC_ENTRY_IN_ASSEMBLER
#endif

#pragma GCC visibility push(hidden)

/* Where alloc-entry.S continues, in the order of what happens more and more rarely. */
void *calloc_recorded(size_t n, size_t each);
void *realloc_recorded(void *block, size_t n);
void *malloc_taken(size_t n);
void free_sampled(void *block);

/* Our own functions: malloc alone means that of the first library that has one. */
extern const char alloc_hooks_malloc[];
void *alloc_hooks_realloc(void *block, size_t n);

#pragma GCC visibility pop

#endif
