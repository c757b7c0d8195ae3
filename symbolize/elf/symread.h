#ifndef CPROF_SYMBOLIZE_ELF_SYMREAD_H
#define CPROF_SYMBOLIZE_ELF_SYMREAD_H

/*
 * Symbol tables, relocations and strings of an ELF file (gABI, "Symbol Table", "Relocation"), read
 * in small pieces when needed.  A section is never in memory as a whole.
 */

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes of one section, in a file or in memory.  Both are borrowed. */
struct symread {
	Elf *elf;
	int fd;                /* -1: in memory */
	const uint8_t *memory;
	uint64_t off, n_bytes; /* off: in the file */
	bool is_64;            /* ELFCLASS64 */
};

/* A piece of a string table, kept for the next strings.  All zero: empty. */
struct symread_piece {
	char *bytes;
	uint64_t off;          /* in the section */
	size_t n, cap;
	int fd;                /* identifies the section */
	uint64_t section_off;
};

/* elf was opened from fd (-1: an image in memory).  False if the section has no bytes in the
 * file. */
bool symread_init(struct symread *r, Elf *elf, int fd, const GElf_Shdr *sh);

/* The string table in the section with that index.  False also if it does not end with NUL. */
bool symread_init_text(struct symread *r, Elf *elf, int fd, size_t index);

/* Reads n bytes at off.  False if the section or the file is shorter. */
bool symread_at(const struct symread *r, uint64_t off, void *to, size_t n_bytes);

/* The string at off; NULL if it cannot be read, or is longer than any name.  Borrowed until the
 * next call with that piece. */
const char *symread_text(const struct symread *r, uint64_t off, struct symread_piece *piece);

/* The first bytes of the string at off, followed by zeros.  False if they cannot be read. */
bool symread_first(const struct symread *r, uint64_t off, struct symread_piece *piece,
		   char ret[3]);

/* ---- rows of tables -------------------------------------------------------- */

/* Reads a table from its first row. */
struct symread_rows {
	struct symread from;
	Elf_Type type;         /* ELF_T_SYM or ELF_T_RELA */
	size_t row_bytes;
	uint64_t n, next;      /* number of rows; index of the next one */
	uint8_t *piece;
	size_t n_piece, at;    /* rows in piece, and the index of the next */
};

bool symread_rows_init(struct symread_rows *rows, const struct symread *from, Elf_Type type);
void symread_rows_done(struct symread_rows *rows);

/* False at the end, if the file is shorter than it should be, or out of memory. */
bool symread_next_symbol(struct symread_rows *rows, GElf_Sym *ret);
bool symread_next_relocation(struct symread_rows *rows, GElf_Rela *ret);

/* The symbol with that index. */
bool symread_symbol(const struct symread *r, uint64_t index, GElf_Sym *ret);

#endif
