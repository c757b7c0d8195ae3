#ifndef CPROF_SYMBOLIZE_ELF_SYMPLT_H
#define CPROF_SYMBOLIZE_ELF_SYMPLT_H

/*
 * Names of the linker's call stubs (.plt, .plt.sec, .plt.got), which have no symbols.  The
 * instructions of a stub give the GOT slot that it jumps through, and the relocation of the slot
 * gives the function.  For x86-64 and arm64 (x86-64 psABI 5.2, "Procedure Linkage Table"; AAELF64
 * "PLT sequences").
 */

#include "base/vec.h"
#include "symbolize/elf/symread.h"

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch;
struct symtab;

/* A relocation that fills a slot. */
struct symplt_slot {
	uint64_t got;          /* address of the GOT slot */
	uint64_t target;       /* R_*_IRELATIVE: address of the resolver; else 0 */
	uint32_t symbol;       /* index into the table of section symtab; 0: none */
	uint32_t symtab;
};

struct symplt_section {
	uint64_t start, end;
	Elf_Scn *scn;
	uint64_t stub_bytes;
};

#define SYMPLT_SECTIONS_MAX 8

struct symplt {
	Elf *elf;
	int fd;
	const struct arch *arch;
	struct symplt_section section[SYMPLT_SECTIONS_MAX];
	size_t n_sections;
	bool jumps_read, all_read;
	struct symplt_slot *v;      /* sorted by got */
	size_t n, cap;
	VEC(struct symplt_slot) jumps; /* .rela.plt in file order: lazy stubs push an index */
	struct symread_piece piece;
};

/* Finds the stub sections of elf, which was opened from fd (-1: an image in memory); both must
 * outlive p.  Relocations are read when first needed.  Without stubs, or with damaged ones, p is
 * empty. */
void symplt_init(struct symplt *p, Elf *elf, int fd);
void symplt_done(struct symplt *p);

bool symplt_covers(const struct symplt *p, uint64_t vaddr);

/* Cuts the range [*start, *end) around vaddr, which is not in a stub, where stubs begin. */
void symplt_cut(const struct symplt *p, uint64_t vaddr, uint64_t *start, uint64_t *end);

/* The function that the stub at vaddr calls, without "@plt", or NULL.  symbols has the names of
 * IRELATIVE slots' targets.  Borrowed until the next call. */
const char *symplt_find(struct symplt *p, struct symtab *symbols, uint64_t vaddr);

#endif
