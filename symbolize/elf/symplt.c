/*
 * Older tools assume that stub N belongs to relocation N.  That fails with every linker that orders
 * them in its own way (IBT, BTI, .plt.got, IRELATIVE last).  The instructions of the stub are
 * always right.
 *
 * Most libraries never need the name of a stub, and libLLVM has 8 MB of relocations.  So
 * relocations are read at the first stub: those of .rela.plt first, which have nearly all slots.
 */

#include "symbolize/elf/symplt.h"

#include "base/vec.h"
#include "symbolize/arch/arch.h"
#include "symbolize/elf/symtab.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#define RELOCATIONS_MAX (1u << 24) /* of one section; more are ignored */

/* ---- sections ------------------------------------------------------------ */

static void add_section(struct symplt *p, Elf_Scn *scn, const GElf_Shdr *sh)
{
	if (sh->sh_size > UINT64_MAX - sh->sh_addr || p->n_sections == SYMPLT_SECTIONS_MAX)
		return;
	/* Stubs without a lazy half, as in .plt.got and in static programs, have 8 bytes. */
	uint64_t stub = sh->sh_entsize;
	if (stub != 8 && stub != 16)
		stub = sh->sh_addralign == 8 ? 8 : 16;
	p->section[p->n_sections++] = (struct symplt_section){
		.start = sh->sh_addr, .end = sh->sh_addr + sh->sh_size,
		.scn = scn, .stub_bytes = stub,
	};
}

static const char *section_name(Elf *elf, const GElf_Shdr *sh)
{
	size_t shstrndx;
	const char *name = elf_getshdrstrndx(elf, &shstrndx)
				   ? NULL : elf_strptr(elf, shstrndx, sh->sh_name);
	return name ? name : "";
}

void symplt_init(struct symplt *p, Elf *elf, int fd)
{
	*p = (struct symplt){ .elf = elf, .fd = fd };
	GElf_Ehdr eh;
	p->arch = gelf_getehdr(elf, &eh) ? arch_of_machine(eh.e_machine) : NULL;
	if (!p->arch)
		return;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || sh.sh_type != SHT_PROGBITS ||
		    !(sh.sh_flags & SHF_ALLOC) || !(sh.sh_flags & SHF_EXECINSTR))
			continue;
		const char *name = section_name(elf, &sh);
		if (strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0 ||
		    strcmp(name, ".iplt") == 0)
			add_section(p, scn, &sh);
	}
}

void symplt_done(struct symplt *p)
{
	free(p->v);
	VEC_FREE(&p->jumps);
	free(p->piece.bytes);
	*p = (struct symplt){0};
}

/* ---- relocations --------------------------------------------------------- */

static bool is_slot(const struct arch *a, uint32_t type)
{
	return type == a->reloc_jump_slot || type == a->reloc_glob_dat;
}

static bool add_relocation(struct symplt *p, const GElf_Rela *r, uint32_t symtab, bool is_plt)
{
	struct symplt_slot slot = { .got = r->r_offset, .symtab = symtab };
	uint32_t type = (uint32_t)GELF_R_TYPE(r->r_info);
	if (is_slot(p->arch, type))
		slot.symbol = (uint32_t)GELF_R_SYM(r->r_info);
	else if (type == p->arch->reloc_irelative)
		slot.target = (uint64_t)r->r_addend;
	if (is_plt && !VEC_PUSH(&p->jumps, slot))
		return false;
	return (!slot.symbol && !slot.target) || VEC_PUSH(p, slot);
}

static void add_relocations(struct symplt *p, const GElf_Shdr *sh, bool is_plt)
{
	struct symread from;
	struct symread_rows rows;
	GElf_Rela r;
	if (!symread_init(&from, p->elf, p->fd, sh) ||
	    !symread_rows_init(&rows, &from, ELF_T_RELA))
		return;
	if (rows.n > RELOCATIONS_MAX)
		rows.n = RELOCATIONS_MAX;
	while (symread_next_relocation(&rows, &r) && add_relocation(p, &r, sh->sh_link, is_plt))
		;
	symread_rows_done(&rows);
}

static int compare_slot(const void *a, const void *b)
{
	const struct symplt_slot *x = a, *y = b;
	return x->got < y->got ? -1 : x->got > y->got;
}

/* Reads .rela.plt, or all sections except that one. */
static void read_relocations(struct symplt *p, bool plt)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(p->elf, scn));) {
		GElf_Shdr sh;
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA && (sh.sh_flags & SHF_ALLOC) &&
		    (strcmp(section_name(p->elf, &sh), ".rela.plt") == 0) == plt)
			add_relocations(p, &sh, plt);
	}
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), compare_slot);
}

static const struct symplt_slot *find_slot(struct symplt *p, uint64_t got)
{
	struct symplt_slot key = { .got = got };
	for (;;) {
		const struct symplt_slot *slot =
			p->n ? bsearch(&key, p->v, p->n, sizeof(*p->v), compare_slot) : NULL;
		if (slot || p->all_read)
			return slot;
		p->all_read = true;
		read_relocations(p, false);
	}
}

/* The name of the symbol that the relocation refers to. */
static const char *name_of(struct symplt *p, const struct symplt_slot *slot)
{
	GElf_Shdr sh;
	GElf_Sym sym;
	struct symread symbols, text;
	Elf_Scn *scn = slot->symbol ? elf_getscn(p->elf, slot->symtab) : NULL;
	if (!scn || !gelf_getshdr(scn, &sh) ||
	    (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB) ||
	    !symread_init(&symbols, p->elf, p->fd, &sh) ||
	    !symread_init_text(&text, p->elf, p->fd, sh.sh_link) ||
	    !symread_symbol(&symbols, slot->symbol, &sym))
		return NULL;
	const char *name = symread_text(&text, sym.st_name, &p->piece);
	return name && *name ? name : NULL;
}

/* ---- stubs --------------------------------------------------------------- */

static const struct symplt_section *find_section(const struct symplt *p, uint64_t vaddr)
{
	for (size_t i = 0; i < p->n_sections; i++)
		if (vaddr >= p->section[i].start && vaddr < p->section[i].end)
			return &p->section[i];
	return NULL;
}

/* The slot of the entry at vaddr; b has the bytes of its section. */
static const struct symplt_slot *slot_at(struct symplt *p, const struct symplt_section *s,
					 const uint8_t *bytes, uint64_t vaddr)
{
	uint64_t got;
	switch (p->arch->plt_entry(bytes, s->end - s->start, s->start, vaddr - s->start,
				   s->stub_bytes, &got)) {
	case ARCH_PLT_SLOT: return find_slot(p, got);
	case ARCH_PLT_INDEX: return got < p->jumps.n ? &p->jumps.v[got] : NULL;
	case ARCH_PLT_NONE: break;
	}
	return NULL;
}

bool symplt_covers(const struct symplt *p, uint64_t vaddr)
{
	return find_section(p, vaddr) != NULL;
}

void symplt_cut(const struct symplt *p, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	for (size_t i = 0; i < p->n_sections; i++) {
		const struct symplt_section *s = &p->section[i];
		if (s->end <= vaddr && s->end > *start)
			*start = s->end;
		if (s->start > vaddr && s->start < *end)
			*end = s->start;
	}
}

const char *symplt_find(struct symplt *p, struct symtab *symbols, uint64_t vaddr)
{
	const struct symplt_section *s = find_section(p, vaddr);
	Elf_Data *data = s ? elf_getdata(s->scn, NULL) : NULL;
	if (!data || !data->d_buf || data->d_size != s->end - s->start)
		return NULL;
	if (!p->jumps_read)
		read_relocations(p, true);
	p->jumps_read = true;
	const struct symplt_slot *slot = slot_at(p, s, data->d_buf, vaddr);
	const char *name = slot ? name_of(p, slot) : NULL;
	if (!name && slot && slot->target) {
		const struct symtab_symbol *target = symtab_find(symbols, slot->target, &name);
		if (!target || target->start != slot->target)
			return NULL;
	}
	return name;
}
