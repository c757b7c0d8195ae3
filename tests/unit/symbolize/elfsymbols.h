#ifndef CPROF_TESTS_ELFSYMBOLS_H
#define CPROF_TESTS_ELFSYMBOLS_H

/* A library that has nothing but dynamic symbols. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi;

struct elfsymbols_symbol {
	const char *name;
	uint64_t vaddr, n_bytes;
	bool is_function;
};

/* A descriptor of the file, which *ret_cfi reads: the caller closes both; -1: no memory. */
int elfsymbols_open(const struct elfsymbols_symbol *symbol, size_t n, struct cfi **ret_cfi);

#endif
