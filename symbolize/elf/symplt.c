#include "symbolize/elf/symplt.h"

#include "base/vec.h"
#include "symbolize/elf/symtab.h"

#include <gelf.h>
#include <stdlib.h>
#include <string.h>

/*
 * Counting stubs and relocations in parallel, as older tools do, breaks with every linker that
 * orders them in its own way (IBT, BTI, .plt.got, IRELATIVE last).  The instructions
 * cannot disagree with what runs.
 *
 * Most libraries are never asked for a stub, and libLLVM has 8 MB of relocations.  So these are
 * read at the first stub, those of .rela.plt first, for nearly all slots are there.
 */

#define RELOCATIONS_MAX (1u << 24) /* of one section; more are passed over */

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
	if (!gelf_getehdr(elf, &eh) || (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64))
		return;
	p->machine = eh.e_machine;
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
	free(p->jump);
	free(p->piece.bytes);
	*p = (struct symplt){0};
}

/* ---- relocations --------------------------------------------------------- */

static bool is_slot(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT;
	return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT;
}

static bool is_irelative(uint16_t machine, uint32_t type)
{
	return type == (machine == EM_X86_64 ? R_X86_64_IRELATIVE : R_AARCH64_IRELATIVE);
}

static bool add_relocation(struct symplt *p, const GElf_Rela *r, uint32_t symtab, bool is_plt)
{
	struct symplt_slot slot = { .got = r->r_offset, .symtab = symtab };
	uint32_t type = (uint32_t)GELF_R_TYPE(r->r_info);
	if (is_slot(p->machine, type))
		slot.symbol = (uint32_t)GELF_R_SYM(r->r_info);
	else if (is_irelative(p->machine, type))
		slot.target = (uint64_t)r->r_addend;
	if (is_plt) {
		if (!vec_grow((void **)&p->jump, &p->cap_jumps, p->n_jumps, 1, sizeof(*p->jump)))
			return false;
		p->jump[p->n_jumps++] = slot;
	}
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

/* Reads .rela.plt, or all sections but that. */
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

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t x;
	memcpy(&x, p, sizeof(x));
	return x;
}

/* "jmp *slot(%rip)" (ff 25 disp32), behind an endbr64 or bnd prefix or not; the lazy half of an
 * IBT stub has only "push index" (68 imm32). */
static const struct symplt_slot *x86_64_slot(struct symplt *p, const struct symplt_section *s,
					     const uint8_t *bytes, uint64_t vaddr)
{
	uint64_t off = (vaddr - s->start) / s->stub_bytes * s->stub_bytes;
	uint64_t size = s->end - s->start;
	uint64_t end = size - off < s->stub_bytes ? size : off + s->stub_bytes;
	for (uint64_t i = off; i + 6 <= end; i++) {
		const uint8_t *b = bytes + i;
		if (b[0] == 0xff && b[1] == 0x25)
			return find_slot(p, s->start + i + 6 +
					    (uint64_t)(int64_t)(int32_t)load_u32(b + 2));
		if (b[0] == 0x68 && load_u32(b + 1) < p->n_jumps)
			return &p->jump[load_u32(b + 1)];
	}
	return NULL;
}

#define A64_BTI_C 0xd503245fu

/* "adrp x16, page; ldr x17, [x16, #off]; ...", behind a "bti c" or not. */
static const struct symplt_slot *aarch64_slot(struct symplt *p, const struct symplt_section *s,
					      const uint8_t *bytes, uint64_t vaddr)
{
	uint64_t size = s->end - s->start;
	uint64_t off = (vaddr - s->start) & ~(uint64_t)3;
	if (off + 4 > size)
		return NULL;
	if (off + 12 <= size && load_u32(bytes + off) == A64_BTI_C)
		off += 4;
	for (unsigned back = 0; back < 6; back++, off -= 4) {
		uint32_t adrp = load_u32(bytes + off);
		uint32_t ldr = off + 8 <= size ? load_u32(bytes + off + 4) : 0;
		if ((adrp & 0x9f00001f) == 0x90000010 && (ldr & 0xffc003ff) == 0xf9400211) {
			uint64_t pages = (adrp >> 29 & 3) | (uint64_t)(adrp >> 5 & 0x7ffff) << 2;
			if (pages & 1u << 20)
				pages |= ~(uint64_t)0 << 21;
			return find_slot(p, ((s->start + off) & ~(uint64_t)0xfff) + (pages << 12) +
					    (uint64_t)(ldr >> 10 & 0xfff) * 8);
		}
		if (off < 4)
			break;
	}
	return NULL;
}

bool symplt_covers(const struct symplt *p, uint64_t vaddr)
{
	return find_section(p, vaddr) != NULL;
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
	const struct symplt_slot *slot = p->machine == EM_X86_64
						 ? x86_64_slot(p, s, data->d_buf, vaddr)
						 : aarch64_slot(p, s, data->d_buf, vaddr);
	const char *name = slot ? name_of(p, slot) : NULL;
	if (!name && slot && slot->target) {
		const struct symtab_symbol *target = symtab_find(symbols, slot->target, &name);
		if (!target || target->start != slot->target)
			return NULL;
	}
	return name;
}
