#ifndef CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_PRIVATE_H
#define CPROF_SYMBOLIZE_KERNEL_SYMKERNEL_PRIVATE_H

/* The table of kernel symbols, which symkernel.c builds and symkernel-cache.c keeps. */

#include "base/vec.h"
#include "symbolize/kernel/symkernel.h"

#define SYMKERNEL_NO_NAME UINT32_MAX  /* a gap: nothing is known to be here */

struct symkernel_sym {
	uint64_t address;
	uint32_t name;    /* offset in names */
	uint32_t module;
};

struct symkernel_module {
	char *name;              /* [0] is "" */
	uint64_t start;          /* of its text; 0: unknown */
};

struct symkernel {
	VEC(struct symkernel_sym) sym;  /* by address */
	VEC(char) names;
	VEC(struct symkernel_module) module;
	size_t n_sorted;         /* length of the sorted head */
	size_t n_hidden;         /* text symbols at address zero */
	uint64_t text_start, text_end;
	uint64_t base;           /* of _text; 0: unknown */
	uint64_t shift;          /* of the kernel proper */
	uint64_t first, last;    /* of symkernel_open_for; last 0: all addresses */
	bool is_complete;        /* for these: the rest is not read */
	void *mapped;            /* file mapping with sym and names; NULL: they are on the heap */
	size_t n_mapped_bytes;
};

/* A table without symbols, whose only module is the kernel itself.  -ENOMEM. */
int symkernel_new(struct symkernel **ret);

/* 0, -ENOMEM, or -ENOSPC if there are too many modules. */
int symkernel_add_module(struct symkernel *k, const char *name, size_t n, uint32_t *ret);

/* The name has n bytes, and no NUL.  0 or -ENOMEM. */
int symkernel_add_symbol(struct symkernel *k, uint64_t address, uint32_t module, const char *name,
			 size_t n);
/* No symbol extends over the address.  0 or -ENOMEM. */
int symkernel_add_gap(struct symkernel *k, uint64_t address, uint32_t module);

/* Adds the modules' starts and ends from /proc/modules.  0 or -ENOMEM. */
int symkernel_add_modules(struct symkernel *k, const struct host *h);

/* Sorts what was added, which makes look-ups possible.  0 or -ENOMEM. */
int symkernel_sort(struct symkernel *k);

#endif
