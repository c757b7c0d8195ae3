#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_TABLE_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_TABLE_H

/*
 * What the table of functions that Go's runtime needs itself (.gopclntab, also there in stripped
 * files) says of frames: how far the stack pointer has moved at each address, which functions are
 * the first of their stacks, and which go to another stack.  The layouts of Go 1.16 to 1.25
 * (src/runtime/symtab.go, src/internal/abi/symtab.go of Go).  Reads the table piece by piece.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/cfi/cfi.h"

struct go_table {
	struct cfi_section table;
	unsigned int layout, ptr_bytes, quantum;
	uint64_t n_functions, text, names_off, steps_off, functions_off;
};

/* Where things are in a file. */
struct go_table_place {
	struct cfi_section table;       /* taken over, and given back on failure, too */
	struct cfi_section rela;        /* borrowed: relocations, of a PIE; n_bytes 0: none */
	uint64_t text, n_text_bytes;    /* the section .text */
};

/* NULL: it is no such table, or one that tells no addresses; or no memory. */
struct go_table *go_table_new(struct go_table_place *p);
void go_table_free(struct go_table *g);

/* Looks for the table in c's file, once; called when first needed.  True: c->go is there. */
bool cfi_seek_go(struct cfi *c);

struct go_table_function {
	uint64_t start, end;            /* vaddr */
	uint64_t i;                     /* its place among all, which are sorted by start */
	uint32_t name_off, sp_steps;
	uint8_t flags;                  /* GO_TABLE_* */
};
#define GO_TABLE_TOP 1u           /* TOPFRAME: the outermost of its stack */
#define GO_TABLE_WRITES_SP 2u     /* SPWRITE */
#define GO_TABLE_ASM 4u           /* hand-written */

/* The function of Go that vaddr lies in. */
bool go_table_find(struct cfi *c, uint64_t vaddr, struct go_table_function *ret);

/* A function by its place; false behind the last. */
bool go_table_function(struct cfi *c, uint64_t i, struct go_table_function *ret);

/* Copies its name; false where there is none or it is longer. */
bool go_table_name(struct cfi *c, const struct go_table_function *f, char *buf, size_t n_bytes);

/* The function of that name in the neighbourhood of f, in the same package for instance. */
#define GO_TABLE_NAME_BYTES_MAX 256u
bool go_table_near(struct cfi *c, const struct go_table_function *f, const char *name,
		 struct go_table_function *ret);

/* The rule at vaddr: PLAIN, ROOT, or NONE where the code must tell.  False where no function of Go
 * lies, or its table does not tell. */
bool go_table_rule(struct cfi *c, uint64_t vaddr, struct cfi_rule *ret);

#endif
