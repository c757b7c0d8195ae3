#ifndef CPROF_SYMBOLIZE_ELF_SYMTAB_H
#define CPROF_SYMBOLIZE_ELF_SYMTAB_H

/*
 * Symbols of functions, or of variables, from one or more ELF symbol tables (gABI, "Symbol Table"),
 * filtered, repaired and sorted once, then searched by address.  Names stay in the string tables of
 * the ELF file and are read when needed, so the Elf handles and files must outlive the symtab.
 */

#include "base/vec.h"
#include "symbolize/elf/symread.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symtab_symbol {
	uint64_t start, end;   /* [start, end); never empty after symtab_finish */
	uint32_t name;         /* private, like alias and text: the place of the name */
	uint32_t alias;        /* 0: the name is final; else 1 + index of other names */
	uint8_t text;
	uint8_t rank;          /* the alias with the highest rank wins */
	bool sized;            /* has a size in the table */
	bool is_dynamic;       /* from .dynsym */
};

/* An executable section.  Symbols elsewhere are not functions. */
struct symtab_range {
	uint64_t start, end;
};

/* Another name of the previous symbol. */
struct symtab_alias {
	uint32_t name;
	uint8_t text;
	bool is_last;
};

#define SYMTAB_TEXTS_MAX 8     /* string tables; a file has one or two */

struct symtab {
	struct symtab_symbol *v;
	size_t n, cap;
	bool is_data;          /* symbols of variables */
	VEC(struct symtab_range) code;      /* sorted by start; of data, if is_data */
	VEC(struct symtab_alias) aliases;
	struct symread text[SYMTAB_TEXTS_MAX];
	bool is_dynamic[SYMTAB_TEXTS_MAX];  /* from .dynsym */
	size_t n_texts;
	struct symread_piece piece, other;  /* last pieces of names that were read */
};

/* Adds the executable sections of elf.  False: out of memory. */
bool symtab_add_code(struct symtab *t, Elf *elf);

/* Instead: the writable sections, for symbols of variables that have a size. */
bool symtab_add_data(struct symtab *t, Elf *elf);

/* Adds the functions, or variables, in elf's tables of that section type (SHT_SYMTAB or
 * SHT_DYNSYM).  elf was opened from fd (-1: an image in memory).  Damaged tables give fewer.
 * Returns the number added, or -ENOMEM. */
int64_t symtab_add(struct symtab *t, Elf *elf, int fd, uint32_t section_type);

/* Sorts, drops aliases, and gives symbols without a size one: up to the next symbol or the end of
 * the section.  Must be called once, after the last symtab_add. */
void symtab_finish(struct symtab *t);

/* The innermost symbol that covers vaddr; NULL if there is none or its name cannot be read.  The
 * name is borrowed until the next call. */
const struct symtab_symbol *symtab_find(struct symtab *t, uint64_t vaddr, const char **ret_name);

/* The addresses [*ret_start, *ret_end) around vaddr for which symtab_find has the same result.
 * False: unknown. */
bool symtab_same(struct symtab *t, uint64_t vaddr, uint64_t *ret_start, uint64_t *ret_end);

void symtab_done(struct symtab *t);

#endif
