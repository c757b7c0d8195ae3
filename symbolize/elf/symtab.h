#ifndef CPROF_SYMBOLIZE_ELF_SYMTAB_H
#define CPROF_SYMBOLIZE_ELF_SYMTAB_H

/*
 * Function symbols of one or more ELF symbol tables (gABI, "Symbol Table"), filtered,
 * repaired and sorted once, then searched by address.  Names stay in the ELF file's
 * string tables and are read when they are asked for, so the Elf handles and their files must
 * outlive the symtab.
 */

#include "symbolize/elf/symread.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_symbol {
	uint64_t start, end;   /* [start, end); repaired: never empty after symtab_finish */
	uint32_t name;         /* private, as alias and text: where the name is */
	uint32_t alias;        /* 0: the name is decided; else 1 + index of other names */
	uint8_t text;
	uint8_t rank;          /* of aliases the highest wins */
	bool sized;            /* had a size of its own */
	bool is_dynamic;       /* from .dynsym */
};

/* An executable section: symbols elsewhere are no functions. */
struct symtab_range {
	uint64_t start, end;
};

/* A further name of the symbol before. */
struct symtab_alias {
	uint32_t name;
	uint8_t text;
	bool is_last;
};

#define SYMTAB_TEXTS_MAX 8     /* string tables; a file has one or two */

struct symtab {
	struct symtab_symbol *v;
	size_t n, cap;
	struct symtab_range *code;   /* sorted by start */
	size_t n_code, cap_code;
	struct symtab_alias *alias;
	size_t n_aliases, cap_aliases;
	struct symread text[SYMTAB_TEXTS_MAX];
	bool is_dynamic[SYMTAB_TEXTS_MAX];  /* is it .dynsym's? */
	size_t n_texts;
	struct symread_piece piece, other;  /* what was last read of names */
};

/* Adds the executable sections of elf.  False when memory is out. */
bool symtab_add_code(struct symtab *t, Elf *elf);

/* Adds the functions in elf's tables of that section type (SHT_SYMTAB or SHT_DYNSYM).  fd: what elf
 * was opened of, -1 for an image in memory.  Damaged tables give fewer.  Returns the number added,
 * or -ENOMEM. */
int64_t symtab_add(struct symtab *t, Elf *elf, int fd, uint32_t section_type);

/* Sorts, drops aliases, and gives symbols without a size one: up to the next symbol or the
 * section's end.  To be called once, after the last symtab_add. */
void symtab_finish(struct symtab *t);

/* The innermost symbol that covers vaddr, or NULL; also where its name cannot be read.  The name is
 * borrowed until the next call. */
const struct symtab_symbol *symtab_find(struct symtab *t, uint64_t vaddr, const char **ret_name);

void symtab_done(struct symtab *t);

#endif
