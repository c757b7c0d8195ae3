#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_PLACES_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_PLACES_H

/*
 * Where a Go program has its functions and the runtime's variables, with or without symbols.  The
 * program may be hostile: all work is bounded, and the result is checked by the caller's use.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/go-layout.h"

struct cfi;
struct runtime_memory;
struct go_table;

/* All borrowed.  Addresses are those of the process: vaddr + bias. */
struct go_places {
	struct cfi *cfi;                /* of the program's file */
	struct go_table *table;
	const struct runtime_memory *memory;
	uint64_t bias;
	uint64_t data_start, data_end;  /* its writable segments */
	/* The layout that the program's debug information shows; false: it shows none.  Slow: for
	 * unknown versions only.  NULL: it cannot be read. */
	bool (*debug_layout)(void *ctx, struct go_layout *ret);
	void *debug_ctx;
};

/* Sets ret[i] to the start of the function with the name names[i]; 0: there is none. */
void go_places_functions(const struct go_places *p, const char *const *names, uint64_t *ret,
			 size_t n);

/* The variable of that name in the symbol table, of between min_bytes and max_bytes; 0: none. */
uint64_t go_places_variable(const struct go_places *p, const char *name, uint64_t min_bytes,
			    uint64_t max_bytes, uint64_t *ret_n_bytes);

/* How the list of goroutines was found. */
enum go_place {
	GO_PLACE_NONE,
	GO_PLACE_SYMBOL,                /* by the symbol runtime.allgs */
	GO_PLACE_CODE,                  /* by the operands of runtime.allgadd */
	GO_PLACE_DATA,                  /* by a search of the program's data */
};

/* A slice of Go. */
struct go_slice { uint64_t at, n, cap; };
#define GO_PLACES_GOROUTINES_MAX (1u << 24)

/*
 * The address of runtime.allgs, the slice with the addresses of all goroutines, if these have the
 * layout l.  main_pc: runtime.main, with which the first goroutine starts; required if is_strict.
 */
enum go_place go_places_allgs(const struct go_places *p, const struct go_layout *l,
			      uint64_t main_pc, bool is_strict, uint64_t *ret);

/* The texts of all reasons to wait, from runtime.waitReasonStrings. */
#define GO_REASONS_MAX 64u
#define GO_REASON_BYTES 48u
struct go_reasons {
	unsigned int n;                 /* 0: unknown */
	char text[GO_REASONS_MAX][GO_REASON_BYTES];
};
void go_places_reasons(const struct go_places *p, struct go_reasons *ret);

#endif
