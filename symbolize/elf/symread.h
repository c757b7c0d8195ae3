#ifndef CPROF_SYMBOLIZE_ELF_SYMREAD_H
#define CPROF_SYMBOLIZE_ELF_SYMREAD_H

/*
 * Symbol tables, relocations and strings of an ELF file (gABI, "Symbol Table", "Relocation"),
 * read in small pieces where they are needed: a section is never in memory as a whole.
 */

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of one section, in a file or in memory; both borrowed. */
struct symread {
	Elf *elf;
	int fd;                /* -1: in memory */
	const uint8_t *memory;
	uint64_t off, n_bytes; /* off: in the file */
	bool is_64;            /* of class ELFCLASS64 */
};

/* A piece of a string table, kept for the strings that follow.  All zero: empty. */
struct symread_piece {
	char *bytes;
	uint64_t off;          /* in the section */
	size_t n, cap;
	int fd;                /* of which section it is */
	uint64_t section_off;
};

/* fd: what elf was opened of, -1 for an image in memory.  False when the section has no bytes
 * there. */
bool symread_init(struct symread *r, Elf *elf, int fd, const GElf_Shdr *sh);

/* The string table in the section with that index; false also when it does not end with NUL. */
bool symread_init_text(struct symread *r, Elf *elf, int fd, size_t index);

/* False when the section or the file is shorter. */
bool symread_at(const struct symread *r, uint64_t off, void *to, size_t n_bytes);

/* The string at off; NULL when it cannot be read, or is longer than any name.  Borrowed until the
 * next call with that piece. */
const char *symread_text(const struct symread *r, uint64_t off, struct symread_piece *piece);

/* The first bytes of what stands at off, zeros behind the end, however long the string is.  False
 * when they cannot be read. */
bool symread_first(const struct symread *r, uint64_t off, struct symread_piece *piece,
		   char ret[3]);

/* ---- rows of tables -------------------------------------------------------- */

/* Reads a table from its first row on. */
struct symread_rows {
	struct symread from;
	Elf_Type type;         /* ELF_T_SYM or ELF_T_RELA */
	size_t row_bytes;
	uint64_t n, next;      /* rows in all; the next one */
	uint8_t *piece;
	size_t n_piece, at;    /* rows in piece, and the next of them */
};

bool symread_rows_init(struct symread_rows *rows, const struct symread *from, Elf_Type type);
void symread_rows_done(struct symread_rows *rows);

/* False at the end, and where the file turns out to be shorter or memory is out. */
bool symread_next_symbol(struct symread_rows *rows, GElf_Sym *ret);
bool symread_next_relocation(struct symread_rows *rows, GElf_Rela *ret);

/* The symbol with that index. */
bool symread_symbol(const struct symread *r, uint64_t index, GElf_Sym *ret);

#endif
