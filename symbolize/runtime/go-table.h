#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_TABLE_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_TABLE_H

/*
 * The function table that the Go runtime needs for itself (.gopclntab), so that stripped programs
 * have it, too.  It says how far the stack pointer has moved at each address, which functions are
 * the first of their stacks, and which switch stacks.  The layouts of Go 1.16 to 1.27
 * (src/runtime/symtab.go and src/internal/abi/symtab.go of Go).  The table is read piece by piece.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/cfi/cfi.h"

struct go_table {
	struct cfi *c;                  /* borrowed */
	struct cfi_section table;
	unsigned int layout, ptr_bytes, quantum;
	uint64_t n_functions, text, names_off, steps_off, functions_off;
};

/* Opens the table of c's file.  NULL: it has none, or one without addresses; or no memory. */
struct go_table *go_table_open(struct cfi *c);
void go_table_close(struct go_table *g);

struct go_table_function {
	uint64_t start, end;            /* vaddr */
	uint64_t i;                     /* its index among all, which are sorted by start */
	uint32_t name_off, sp_steps;
	uint8_t id, flags;              /* abi.FuncID, which depends on the version; GO_TABLE_* */
};
#define GO_TABLE_TOP 1u           /* TOPFRAME: the outermost frame of its stack */
#define GO_TABLE_WRITES_SP 2u     /* SPWRITE */
#define GO_TABLE_ASM 4u           /* hand-written */

/* The Go function that contains vaddr. */
bool go_table_find(struct go_table *g, uint64_t vaddr, struct go_table_function *ret);

/* A function by its index; false after the last. */
bool go_table_function(struct go_table *g, uint64_t i, struct go_table_function *ret);

/* Copies its name; false: it has no name, or one longer than buf. */
bool go_table_name(struct go_table *g, const struct go_table_function *f, char *buf,
		   size_t n_bytes);

/* Has the compiler made it, to pass on its arguments or to call a method? */
bool go_table_is_wrapper(struct go_table *g, const struct go_table_function *f);

/* The function of that name near f, for instance in the same package. */
#define GO_TABLE_NAME_BYTES_MAX 256u
bool go_table_near(struct go_table *g, const struct go_table_function *f, const char *name,
		   struct go_table_function *ret);

/* The rule at vaddr: PLAIN, ROOT, or NONE where the rule must come from the code.  False: no Go
 * function is there, or the table does not cover the address. */
bool go_table_rule(struct go_table *g, uint64_t vaddr, struct cfi_rule *ret);

#endif
