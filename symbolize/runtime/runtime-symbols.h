#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_SYMBOLS_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_SYMBOLS_H

/* A runtime's variables and functions, by the symbols of its file. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi;

enum runtime_symbols {
	RUNTIME_SYMBOLS_ALL,            /* .symtab, which stripped files lack */
	RUNTIME_SYMBOLS_DYNAMIC,        /* .dynsym */
};

struct runtime_symbol {
	const char *name;
	bool is_function;
	uint64_t min_bytes, max_bytes;  /* its size is between them */
	uint64_t vaddr, n_bytes;        /* out: vaddr 0: there is none */
};

/* Calls take for each variable and function whose name begins with one of the n prefixes and is
 * shorter than RUNTIME_SYMBOLS_NAME_BYTES; the name is borrowed.  Reads the whole table. */
#define RUNTIME_SYMBOLS_NAME_BYTES 128u
void runtime_symbols_each(struct cfi *c, enum runtime_symbols which, const char *const *prefix,
			  size_t n, void (*take)(void *ctx, const char *name, uint64_t vaddr),
			  void *ctx);

/* Reads the whole table: once per file and question. */
void runtime_symbols_find(struct cfi *c, enum runtime_symbols which, struct runtime_symbol *symbol,
			  size_t n);

#endif
