#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_PRIVATE_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_PRIVATE_H

/* The table of kernel symbols, as symkernel.c makes it and symkernel-cache.c keeps it. */

#include "base/vec.h"
#include "symbolize/kernel/symkernel.h"

#define SYMKERNEL_NO_NAME UINT32_MAX  /* a gap: nothing is known to lie here */

struct symkernel_sym {
	uint64_t address;
	uint32_t name;    /* offset in names */
	uint16_t module;
	uint16_t rank;    /* which of several names for one address is best */
};

struct symkernel {
	VEC(struct symkernel_sym) sym;  /* by address */
	VEC(char) names;
	VEC(char *) module;      /* [0] is "" */
	size_t n_sorted;         /* how many symbols from the start are in order */
	size_t n_hidden;         /* text symbols at address zero */
	uint64_t text_start, text_end;
	void *mapped;            /* sym and names lie in this file mapping; NULL: on the heap */
	size_t n_mapped_bytes;
};

/* One without symbols, whose only module is the kernel itself.  -ENOMEM. */
int symkernel_new(struct symkernel **ret);

#endif
