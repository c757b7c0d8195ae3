#ifndef CPROF_SYMBOLIZE_SYMTAB_H
#define CPROF_SYMBOLIZE_SYMTAB_H

/*
 * Function symbols of one or more ELF symbol tables (gABI, "Symbol Table"), filtered,
 * repaired and sorted once, then searched by address.  Names stay in the ELF file's
 * string tables, so the Elf handles must outlive the symtab.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_symbol {
	uint64_t start, end;   /* [start, end); repaired: never empty after symtab_finish */
	uint64_t max_end;      /* highest end of this symbol and all before it */
	const char *name;      /* NUL-terminated, in the ELF file's memory */
	uint8_t source;        /* SYMBOLIZER_SYMTAB or SYMBOLIZER_DYNSYM */
	uint8_t rank;          /* of aliases the highest wins */
	bool sized;            /* had a size of its own */
};

/* An executable section: symbols elsewhere are no functions. */
struct symtab_range {
	uint64_t start, end;
};

struct symtab {
	struct symtab_symbol *v;
	size_t n, cap;
	struct symtab_range *code;   /* sorted by start */
	size_t n_code, cap_code;
};

/* Adds the executable sections of elf.  False when memory is out. */
bool symtab_add_code(struct symtab *t, Elf *elf);

/* Adds the functions in elf's tables of that section type (SHT_SYMTAB or SHT_DYNSYM).
 * Damaged tables give fewer.  Returns the number added, or -ENOMEM. */
int64_t symtab_add(struct symtab *t, Elf *elf, uint32_t section_type, uint8_t source);

/* Sorts, drops aliases, and gives symbols without a size one: up to the next symbol or the
 * section's end.  To be called once, after the last symtab_add. */
void symtab_finish(struct symtab *t);

/* The innermost symbol that covers vaddr, or NULL. */
const struct symtab_symbol *symtab_find(const struct symtab *t, uint64_t vaddr);

void symtab_done(struct symtab *t);

#endif
