#ifndef CPROF_LABELS_GOBIRTH_H
#define CPROF_LABELS_GOBIRTH_H

/*
 * Which goroutine is created by which one, from a breakpoint at a function of Go's runtime that
 * newproc1 calls with the new goroutine as its argument (src/runtime/proc.go, Go 1.17 and later).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "labels/gobreak.h"
#include "labels/goread.h"

/* Addresses of functions; all zero: creations cannot be reported. */
struct gobirth_code {
	uint64_t at;               /* the one with the breakpoint */
	uint64_t g_offset;         /* its first argument is the address of this part of the g */
	uint64_t newproc1, newproc1_end;
	unsigned int creator_word; /* of the stack at the breakpoint */
};

#define GOBIRTH_CODE_BYTES 256u
/* The word of the stack that has the creator's g, from the first bytes of newproc1 on x86-64; 0: it
 * is unknown. */
unsigned int gobirth_creator_word(const uint8_t *code, size_t n_bytes);

/* False: it is another call of the function. */
bool gobirth_decode(const struct gobirth_code *c, const struct gobreak_hit *h,
		    struct goread_birth *ret);

#endif
