#include "symbolize/symplt.h"

#include "base/vec.h"
#include "symbolize/symtab.h"

#include <gelf.h>

/*
 * Counting stubs and relocations in parallel, as older tools do, breaks with every linker that
 * orders them in its own way (IBT, BTI, .plt.got, IRELATIVE last).  The instructions
 * cannot disagree with what runs.
 */

/* ---- reading ------------------------------------------------------------- */

static void add_section(struct symplt *p, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	if (!data || !data->d_buf || data->d_size != sh->sh_size ||
	    sh->sh_size > UINT64_MAX - sh->sh_addr || p->n_sections == SYMPLT_SECTIONS_MAX)
		return;
	/* Stubs without a lazy half, as in .plt.got and in static programs, have 8 bytes. */
	uint64_t stub = sh->sh_entsize;
	if (stub != 8 && stub != 16)
		stub = sh->sh_addralign == 8 ? 8 : 16;
	p->section[p->n_sections++] = (struct symplt_section){
		.start = sh->sh_addr, .end = sh->sh_addr + sh->sh_size,
		.bytes = data->d_buf, .stub_bytes = stub,
	};
}

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

/* Symbols and names that a relocation section refers to. */
struct names {
	Elf_Data *symbols;
	const char *text;
	size_t n_bytes;
};

static struct names names_of(Elf *elf, size_t symtab_index)
{
	GElf_Shdr sh;
	Elf_Scn *scn = symtab_index ? elf_getscn(elf, symtab_index) : NULL;
	if (!scn || !gelf_getshdr(scn, &sh) ||
	    (sh.sh_type != SHT_DYNSYM && sh.sh_type != SHT_SYMTAB))
		return (struct names){0};
	Elf_Data *symbols = elf_getdata(scn, NULL);
	Elf_Scn *strscn = elf_getscn(elf, sh.sh_link);
	GElf_Shdr strsh;
	if (!strscn || !gelf_getshdr(strscn, &strsh) || strsh.sh_type != SHT_STRTAB)
		return (struct names){0};
	Elf_Data *text = elf_getdata(strscn, NULL);
	if (!symbols || !symbols->d_buf || !text || !text->d_buf || !text->d_size ||
	    ((const char *)text->d_buf)[text->d_size - 1] != '\0')
		return (struct names){0};
	return (struct names){ symbols, text->d_buf, text->d_size };
}

static const char *name_of(const struct names *names, uint64_t index)
{
	GElf_Sym sym;
	if (!names->symbols || !index || index > INT32_MAX ||
	    !gelf_getsym(names->symbols, (int)index, &sym) || sym.st_name >= names->n_bytes)
		return NULL;
	const char *name = names->text + sym.st_name;
	return *name ? name : NULL;
}

static bool add_relocations(struct symplt *p, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh,
			    bool is_plt)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t rela_bytes = gelf_fsize(elf, ELF_T_RELA, 1, EV_CURRENT);
	if (!data || !data->d_buf || !rela_bytes)
		return true;
	struct names names = names_of(elf, sh->sh_link);
	size_t n = data->d_size / rela_bytes;
	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		GElf_Rela r;
		if (!gelf_getrela(data, (int)i, &r))
			break;
		struct symplt_slot slot = { .got = r.r_offset };
		uint32_t type = (uint32_t)GELF_R_TYPE(r.r_info);
		if (is_slot(p->machine, type))
			slot.name = name_of(&names, GELF_R_SYM(r.r_info));
		else if (is_irelative(p->machine, type))
			slot.target = (uint64_t)r.r_addend;
		if (is_plt) {
			if (!vec_grow((void **)&p->jump, &p->cap_jumps, p->n_jumps, 1,
				      sizeof(*p->jump)))
				return false;
			p->jump[p->n_jumps++] = slot;
		}
		if ((slot.name || slot.target) && !VEC_PUSH(p, slot))
			return false;
	}
	return true;
}

static int compare_slot(const void *a, const void *b)
{
	const struct symplt_slot *x = a, *y = b;
	return x->got < y->got ? -1 : x->got > y->got;
}

bool symplt_init(struct symplt *p, Elf *elf)
{
	*p = (struct symplt){0};
	GElf_Ehdr eh;
	size_t shstrndx;
	if (!gelf_getehdr(elf, &eh) || elf_getshdrstrndx(elf, &shstrndx) ||
	    (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64))
		return true;
	p->machine = eh.e_machine;
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(elf, scn));) {
		GElf_Shdr sh;
		const char *name = gelf_getshdr(scn, &sh) ?
			elf_strptr(elf, shstrndx, sh.sh_name) : NULL;
		if (!name || !(sh.sh_flags & SHF_ALLOC))
			continue;
		if (sh.sh_type == SHT_PROGBITS && (sh.sh_flags & SHF_EXECINSTR) &&
		    (strcmp(name, ".plt") == 0 || strncmp(name, ".plt.", 5) == 0 ||
		     strcmp(name, ".iplt") == 0))
			add_section(p, scn, &sh);
		else if (sh.sh_type == SHT_RELA &&
			 !add_relocations(p, elf, scn, &sh, strcmp(name, ".rela.plt") == 0))
			goto out_of_memory;
	}
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), compare_slot);
	return true;

out_of_memory:
	symplt_done(p);
	return false;
}

void symplt_done(struct symplt *p)
{
	free(p->v);
	free(p->jump);
	*p = (struct symplt){0};
}

/* ---- stubs --------------------------------------------------------------- */

static const struct symplt_section *find_section(const struct symplt *p, uint64_t vaddr)
{
	for (size_t i = 0; i < p->n_sections; i++)
		if (vaddr >= p->section[i].start && vaddr < p->section[i].end)
			return &p->section[i];
	return NULL;
}

static const struct symplt_slot *find_slot(const struct symplt *p, uint64_t got)
{
	struct symplt_slot key = { .got = got };
	return p->n ? bsearch(&key, p->v, p->n, sizeof(*p->v), compare_slot) : NULL;
}

static uint32_t load_u32(const uint8_t *p)
{
	uint32_t x;
	memcpy(&x, p, sizeof(x));
	return x;
}

/* "jmp *slot(%rip)" (ff 25 disp32), behind an endbr64 or bnd prefix or not; the lazy half of an
 * IBT stub has only "push index" (68 imm32). */
static const struct symplt_slot *x86_64_slot(const struct symplt *p,
					     const struct symplt_section *s, uint64_t vaddr)
{
	uint64_t off = (vaddr - s->start) / s->stub_bytes * s->stub_bytes;
	uint64_t size = s->end - s->start;
	uint64_t end = size - off < s->stub_bytes ? size : off + s->stub_bytes;
	for (uint64_t i = off; i + 6 <= end; i++) {
		const uint8_t *b = s->bytes + i;
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
static const struct symplt_slot *aarch64_slot(const struct symplt *p,
					      const struct symplt_section *s, uint64_t vaddr)
{
	uint64_t size = s->end - s->start;
	uint64_t off = (vaddr - s->start) & ~(uint64_t)3;
	if (off + 4 > size)
		return NULL;
	if (off + 12 <= size && load_u32(s->bytes + off) == A64_BTI_C)
		off += 4;
	for (unsigned back = 0; back < 6; back++, off -= 4) {
		uint32_t adrp = load_u32(s->bytes + off);
		uint32_t ldr = off + 8 <= size ? load_u32(s->bytes + off + 4) : 0;
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

const char *symplt_find(const struct symplt *p, const struct symtab *symbols, uint64_t vaddr)
{
	const struct symplt_section *s = find_section(p, vaddr);
	if (!s)
		return NULL;
	const struct symplt_slot *slot = p->machine == EM_X86_64 ? x86_64_slot(p, s, vaddr)
								  : aarch64_slot(p, s, vaddr);
	if (!slot)
		return NULL;
	if (slot->name)
		return slot->name;
	const struct symtab_symbol *target = slot->target ? symtab_find(symbols, slot->target)
							  : NULL;
	return target && target->start == slot->target ? target->name : NULL;
}
