#ifndef CPROF_SYMBOLIZE_RUNTIME_CFI_GO_H
#define CPROF_SYMBOLIZE_RUNTIME_CFI_GO_H

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

struct cfi_go {
	struct cfi_section table;
	unsigned int layout, ptr_bytes, quantum;
	uint64_t n_functions, text, names_off, steps_off, functions_off;
};

/* Where things are in a file. */
struct cfi_go_place {
	struct cfi_section table;       /* taken over, and given back on failure, too */
	struct cfi_section rela;        /* borrowed: relocations, of a PIE; n_bytes 0: none */
	uint64_t text, n_text_bytes;    /* the section .text */
};

/* NULL: it is no such table, or one that tells no addresses; or no memory. */
struct cfi_go *cfi_go_new(struct cfi_go_place *p);
void cfi_go_free(struct cfi_go *g);

/* Looks for the table in c's file, once; called when first needed.  True: c->go is there. */
bool cfi_seek_go(struct cfi *c);

struct cfi_go_function {
	uint64_t start, end;            /* vaddr */
	uint64_t i;                     /* its place among all, which are sorted by start */
	uint32_t name_off, sp_steps;
	uint8_t flags;                  /* CFI_GO_* */
};
#define CFI_GO_TOP 1u           /* TOPFRAME: the outermost of its stack */
#define CFI_GO_WRITES_SP 2u     /* SPWRITE */
#define CFI_GO_ASM 4u           /* hand-written */

/* The function of Go that vaddr lies in. */
bool cfi_go_find(struct cfi *c, uint64_t vaddr, struct cfi_go_function *ret);

/* A function by its place; false behind the last. */
bool cfi_go_function(struct cfi *c, uint64_t i, struct cfi_go_function *ret);

/* Copies its name; false where there is none or it is longer. */
bool cfi_go_name(struct cfi *c, const struct cfi_go_function *f, char *buf, size_t n_bytes);

/* The function of that name in the neighbourhood of f, in the same package for instance. */
#define CFI_GO_NAME_BYTES_MAX 256u
bool cfi_go_near(struct cfi *c, const struct cfi_go_function *f, const char *name,
		 struct cfi_go_function *ret);

/* The rule at vaddr: PLAIN, ROOT, or NONE where the code must tell.  False where no function of Go
 * lies, or its table does not tell. */
bool cfi_go_rule(struct cfi *c, uint64_t vaddr, struct cfi_rule *ret);

#endif
