#ifndef CPROF_SYMBOLIZE_DWARF_SYMDWARF_H
#define CPROF_SYMBOLIZE_DWARF_SYMDWARF_H

/*
 * Functions, inlined calls and lines from DWARF 2 to 5 (DWARF 5, sections 3.3.8 "Inlined
 * Subroutines" and 6.2 "Line Number Information"), for a sorted batch of addresses at a time. Only
 * compile units that cover one of the addresses are read.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct symdebug_place;
struct symdwarf;

/* Strings belong to the symdwarf; NULL: unknown. */
struct symdwarf_frame {
	const char *name;        /* DW_AT_name */
	const char *linkage;     /* DW_AT_linkage_name, also from the abstract instance */
	const char *file;        /* of the pc, or of the call of the next inner frame */
	const char *dir;         /* the base of a relative file; NULL if file is absolute */
	uint32_t line, column;   /* 0: unknown */
	uint32_t start_line;     /* of the function's declaration; 0: unknown */
};

struct symdwarf_addr {
	uint64_t vaddr;          /* in */
	uint32_t first, n;       /* out: frames, innermost first; n 0: no unit covers it */
	bool has_function;       /* out: if false, the only frame has no name, but maybe a line */
	bool is_plain;           /* out: of a language without mangling (C, Go, assembler) */
};

/* elf and its file fd (-1: elf is in memory) must outlive it; elf_path (may be NULL) is its path.
 * 0, -ENOENT (no usable debug information), or -ENOMEM. */
int symdwarf_open(Elf *elf, int fd, const char *elf_path, const struct symdebug_place *where,
		  struct symdwarf **ret_dwarf);
void symdwarf_close(struct symdwarf *s);

/* Resolves n addresses, sorted by vaddr.  0 or -ENOMEM; damaged parts give fewer names. */
int symdwarf_resolve(struct symdwarf *s, struct symdwarf_addr *addr, size_t n);

/* Are names missing because the time in `where` was used up? */
bool symdwarf_was_late(const struct symdwarf *s);

/* The path of a missing or mismatched file with a part of it (a .dwo file, or dwz's common file);
 * NULL: none. */
const char *symdwarf_lost_part(const struct symdwarf *s);

/* All frames so far.  The array moves with the next symdwarf_resolve. */
const struct symdwarf_frame *symdwarf_frames(const struct symdwarf *s);

#endif
