#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_LOOP_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_LOOP_H

/* The code of an interpreter's loop: a function, and the parts of it that compilers put
 * elsewhere. */

#include <stdbool.h>
#include <stdint.h>

struct cfi;

struct runtime_range { uint64_t start, end; };

#define RUNTIME_LOOP_PARTS_MAX 32u

struct runtime_loop {
	struct runtime_range part[RUNTIME_LOOP_PARTS_MAX]; /* vaddr */
	unsigned int n;                 /* 0: it has no symbol */
};

/* The loop is the function at a vaddr; 0: it has no symbol. */
void runtime_loop_find(struct runtime_loop *ret, struct cfi *c, uint64_t start, uint64_t n_bytes);

/* The loop is the largest function that the one at a vaddr calls; 0: it has no symbol. */
void runtime_loop_find_callee(struct runtime_loop *ret, struct cfi *c, uint64_t caller,
			      uint64_t n_bytes);

/* The largest function that the one at a vaddr calls or jumps to.  False: it calls none. */
bool runtime_loop_callee(struct cfi *c, uint64_t caller, uint64_t n_bytes,
			 struct runtime_range *ret);

/* The loop is the function with the most jumps to addresses that are in memory: each instruction of
 * threaded code ends by jumping to the next one's code.  Reads all code of the file. */
void runtime_loop_find_threaded(struct runtime_loop *ret, struct cfi *c);

/* Is that vaddr in the loop? */
bool runtime_loop_has(const struct runtime_loop *l, uint64_t vaddr);

#endif
