/*
 * In a relocatable file each section begins at zero, and references of debug information to
 * addresses, strings and other sections wait for the linker.  So the linker's work is done here,
 * but only for the debug sections that are read later (not for those about variables, which are
 * half of a module).  They are copied one after the other, decompressed, and relocated for the
 * addresses where the kernel has put the executable sections.  A debug section itself is at zero,
 * as in linked files.  With an unknown relocation the file is refused: wrong lines and names are
 * worse than missing ones.
 *
 * The file is read, not mapped, for the reason given in symelf.c, and in pieces: the relocations of
 * a module are three times as long as the sections that they apply to.
 */

#include "symbolize/kernel/symrel.h"

#include "base/cleanup.h"
#include "symbolize/arch/arch.h"
#include "symbolize/dwarf/dwsection.h"
#include "symbolize/elf/symdebug.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SECTIONS_MAX 65536
#define SYMBOLS_BYTES_MAX (64u << 20)
#define PIECE_BYTES (1u << 20)          /* the deadline is checked after each */
#define RELOCATIONS_MAX 2048            /* read at once */

static const struct {
	const char *name;
	enum dwsection_id id;
} needed[] = {
	{ ".debug_info", DWSECTION_INFO },
	{ ".debug_abbrev", DWSECTION_ABBREV },
	{ ".debug_aranges", DWSECTION_ARANGES },
	{ ".debug_line", DWSECTION_LINE },
	{ ".debug_str", DWSECTION_STR },
	{ ".debug_line_str", DWSECTION_LINE_STR },
	{ ".debug_str_offsets", DWSECTION_STR_OFFSETS },
	{ ".debug_addr", DWSECTION_ADDR },
	{ ".debug_ranges", DWSECTION_RANGES },
	{ ".debug_rnglists", DWSECTION_RNGLISTS },
};
#define N_NEEDED (sizeof(needed) / sizeof(*needed))

struct link_section {
	const char *name;        /* borrowed from the ELF handle */
	uint64_t address;        /* of code or data; 0: unknown, or irrelevant */
	bool is_debug;
	bool is_copied;          /* one of the debug sections above */
	enum dwsection_id id;
	uint64_t image_off, n_bytes;
};

struct link {
	Elf *elf;
	int fd;
	GElf_Ehdr header;
	const struct arch *arch;       /* NULL: not supported */
	const struct symrel_place *place;
	struct dwsections from;
	struct link_section *section;
	size_t n_sections, n_copied;
	uint8_t *image;
	uint64_t n_image_bytes;
	uint64_t names_off, n_names_bytes, headers_off;
};

static void link_done(struct link *l)
{
	dwsection_done(&l->from);
	elf_end(l->elf);
	free(l->section);
	free(l->image);
}

static bool is_late(const struct link *l)
{
	const struct symdebug_place where = { .deadline_ns = l->place->deadline_ns };
	return symdebug_is_late(&where);
}

/* ---- sections -------------------------------------------------------------- */

/* Its index among the needed sections, or N_NEEDED. */
static size_t needed_index(const char *name)
{
	size_t i = 0;
	while (i < N_NEEDED && strcmp(name, needed[i].name) != 0)
		i++;
	return i;
}

/* Makes room for a debug section, if it is the first one with a needed name. */
static int place_section(struct link *l, struct link_section *s, bool *has)
{
	size_t k = needed_index(s->name);
	s->is_debug = true;
	if (k == N_NEEDED || has[k])
		return 0;
	has[k] = s->is_copied = true;
	s->id = needed[k].id;
	s->image_off = (l->n_image_bytes + 15) & ~(uint64_t)15;
	s->n_bytes = dwsection_bytes(&l->from, s->id);
	if (s->n_bytes > SYMREL_BYTES_MAX || s->image_off + s->n_bytes > SYMREL_BYTES_MAX)
		return -EFBIG;
	l->n_image_bytes = s->image_off + s->n_bytes;
	l->n_names_bytes += strlen(s->name) + 1;
	l->n_copied++;
	return 0;
}

static int list_section(struct link *l, Elf_Scn *scn, size_t names, bool *has)
{
	GElf_Shdr sh;
	size_t i = elf_ndxscn(scn);
	if (i >= l->n_sections || !gelf_getshdr(scn, &sh))
		return -EINVAL;
	struct link_section *s = &l->section[i];
	s->name = elf_strptr(l->elf, names, sh.sh_name);
	if (!s->name)
		return -EINVAL;
	if (sh.sh_flags & SHF_ALLOC) {
		if (is_late(l))
			return -ETIMEDOUT;
		if (!l->place->find(l->place->ctx, s->name, &s->address))
			s->address = 0;
		return 0;
	}
	if (sh.sh_type != SHT_PROGBITS || strncmp(s->name, ".debug_", 7) != 0)
		return 0;
	return place_section(l, s, has);
}

static int list_sections(struct link *l)
{
	bool has[N_NEEDED] = { 0 };
	size_t names;
	if (elf_getshdrnum(l->elf, &l->n_sections) || elf_getshdrstrndx(l->elf, &names) ||
	    l->n_sections > SECTIONS_MAX)
		return -EINVAL;
	l->section = calloc(l->n_sections + 1, sizeof(*l->section));
	if (!l->section)
		return -ENOMEM;
	l->n_image_bytes = sizeof(Elf64_Ehdr);
	l->n_names_bytes = 1 + sizeof(".shstrtab");
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(l->elf, scn));) {
		int r = list_section(l, scn, names, has);
		if (r < 0)
			return r;
	}
	return l->n_copied ? 0 : -EINVAL;
}

static int copy_section(struct link *l, const struct link_section *s)
{
	for (uint64_t off = 0, n; off < s->n_bytes; off += n) {
		n = s->n_bytes - off < PIECE_BYTES ? s->n_bytes - off : PIECE_BYTES;
		struct bytes b = dwsection_hold(&l->from, s->id, off, n);
		const void *p = bytes_take(&b, n);
		if (is_late(l))
			return -ETIMEDOUT;
		if (!p)
			return -EINVAL;
		memcpy(l->image + s->image_off + off, p, n);
	}
	return 0;
}

static int copy_sections(struct link *l)
{
	l->names_off = l->n_image_bytes;
	l->headers_off = (l->names_off + l->n_names_bytes + 15) & ~(uint64_t)15;
	l->n_image_bytes = l->headers_off + (l->n_copied + 2) * sizeof(Elf64_Shdr);
	l->image = calloc(1, l->n_image_bytes);
	if (!l->image)
		return -ENOMEM;
	for (size_t i = 1; i < l->n_sections; i++) {
		int r = l->section[i].is_copied ? copy_section(l, &l->section[i]) : 0;
		if (r < 0)
			return r;
	}
	dwsection_done(&l->from);
	l->from = (struct dwsections){ 0 };
	return 0;
}

/* ---- relocations ----------------------------------------------------------- */

/* The number of bytes that a relocation of that type writes (x86-64 psABI, table 4.9; AAELF64,
 * 5.7.4).  The value of each supported type is S + A.  0: nothing; -1: not supported. */
static int bytes_of_type(const struct arch *a, uint32_t type)
{
	if (!a)
		return -1;
	return type == 0 ? 0 : type == a->reloc_abs64 ? 8
	       : type == a->reloc_abs32[0] || type == a->reloc_abs32[1] ? 4 : -1;
}

static bool get_symbol(const Elf_Data *symbols, uint64_t i, Elf64_Sym *ret)
{
	if (i >= symbols->d_size / sizeof(*ret))
		return false;
	memcpy(ret, (const uint8_t *)symbols->d_buf + i * sizeof(*ret), sizeof(*ret));
	return true;
}

static bool symbol_value(const struct link *l, const Elf64_Sym *sym, uint64_t *ret)
{
	*ret = sym->st_shndx == SHN_UNDEF ? 0 : sym->st_value;
	if (sym->st_shndx == SHN_UNDEF || sym->st_shndx == SHN_ABS)
		return true;
	if (sym->st_shndx == SHN_COMMON) {
		*ret = 0;    /* a variable; st_value is its alignment */
		return true;
	}
	if (sym->st_shndx >= l->n_sections)
		return false;
	const struct link_section *s = &l->section[sym->st_shndx];
	/* Unknown addresses become zero, which debug information uses for dropped code. */
	*ret = s->is_debug ? sym->st_value : s->address ? s->address + sym->st_value : 0;
	return true;
}

/* Is the address itself unknown?  Its addend must not make it look like a known one. */
static bool is_nowhere(const struct link *l, const Elf64_Sym *sym)
{
	return sym->st_shndx != SHN_UNDEF && sym->st_shndx < l->n_sections &&
	       !l->section[sym->st_shndx].is_debug && l->section[sym->st_shndx].address == 0;
}

static int relocate(struct link *l, const struct link_section *s, const Elf_Data *symbols,
		    const Elf64_Rela *r)
{
	uint64_t value;
	Elf64_Sym sym;
	int n = bytes_of_type(l->arch, (uint32_t)ELF64_R_TYPE(r->r_info));
	if (n <= 0)
		return n ? -ENOTSUP : 0;
	if (r->r_offset > s->n_bytes || s->n_bytes - r->r_offset < (uint64_t)n ||
	    !get_symbol(symbols, ELF64_R_SYM(r->r_info), &sym) || !symbol_value(l, &sym, &value))
		return -EINVAL;
	if (!is_nowhere(l, &sym))
		value += (uint64_t)r->r_addend;
	else if (s->id == DWSECTION_RANGES)
		value = 1;   /* a pair of zeros would end the unit's list (DWARF 4, 2.17.3) */
	uint32_t value32 = (uint32_t)value;
	memcpy(l->image + s->image_off + r->r_offset, n == 8 ? (void *)&value : &value32,
	       (size_t)n);
	return 0;
}

/* The symbols that relocations refer to; NULL if there are none, or too many. */
static const Elf_Data *symbols_of(struct link *l, const GElf_Shdr *relocations)
{
	GElf_Shdr sh;
	Elf_Scn *table = elf_getscn(l->elf, relocations->sh_link);
	if (!table || !gelf_getshdr(table, &sh) || sh.sh_type != SHT_SYMTAB ||
	    sh.sh_flags & SHF_COMPRESSED || sh.sh_size > SYMBOLS_BYTES_MAX)
		return NULL;
	const Elf_Data *symbols = elf_getdata(table, NULL);
	return symbols && symbols->d_buf && symbols->d_type == ELF_T_SYM ? symbols : NULL;
}

static int relocate_section(struct link *l, const GElf_Shdr *sh)
{
	Elf64_Rela rela[RELOCATIONS_MAX];
	const struct link_section *s = &l->section[sh->sh_info];
	const Elf_Data *symbols = symbols_of(l, sh);
	uint64_t n_left = sh->sh_size / sizeof(*rela);
	if (!symbols)
		return n_left ? -EINVAL : 0;
	for (uint64_t off = sh->sh_offset, n; n_left; n_left -= n, off += n * sizeof(*rela)) {
		n = n_left < RELOCATIONS_MAX ? n_left : RELOCATIONS_MAX;
		if (is_late(l))
			return -ETIMEDOUT;
		if (off > INT64_MAX || pread(l->fd, rela, n * sizeof(*rela), (off_t)off) !=
				       (ssize_t)(n * sizeof(*rela)))
			return -EINVAL;
		for (uint64_t i = 0; i < n; i++) {
			int r = relocate(l, s, symbols, &rela[i]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int relocate_all(struct link *l)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(l->elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL) ||
		    sh.sh_info >= l->n_sections || !l->section[sh.sh_info].is_copied)
			continue;
		if (sh.sh_type == SHT_REL || sh.sh_flags & SHF_COMPRESSED)
			return -ENOTSUP;
		int r = relocate_section(l, &sh);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the image ------------------------------------------------------------- */

static void write_headers(struct link *l)
{
	char *names = (char *)l->image + l->names_off;
	size_t n_names = 1, n = 1;
	Elf64_Shdr *header = (Elf64_Shdr *)(l->image + l->headers_off);
	for (size_t i = 1; i < l->n_sections; i++) {
		const struct link_section *s = &l->section[i];
		if (!s->is_copied)
			continue;
		header[n++] = (Elf64_Shdr){
			.sh_name = (Elf64_Word)n_names, .sh_type = SHT_PROGBITS,
			.sh_offset = s->image_off, .sh_size = s->n_bytes, .sh_addralign = 1,
		};
		n_names += strlen(strcpy(names + n_names, s->name)) + 1;
	}
	header[n] = (Elf64_Shdr){
		.sh_name = (Elf64_Word)n_names, .sh_type = SHT_STRTAB, .sh_addralign = 1,
		.sh_offset = l->names_off, .sh_size = l->n_names_bytes,
	};
	strcpy(names + n_names, ".shstrtab");
	Elf64_Ehdr *e = (Elf64_Ehdr *)l->image;
	memcpy(e->e_ident, l->header.e_ident, EI_NIDENT);
	e->e_type = ET_EXEC;
	e->e_machine = l->header.e_machine;
	e->e_version = EV_CURRENT;
	e->e_shoff = l->headers_off;
	e->e_ehsize = sizeof(*e);
	e->e_shentsize = sizeof(*header);
	e->e_shnum = (Elf64_Half)(n + 1);
	e->e_shstrndx = (Elf64_Half)n;
}

static bool is_linkable(const struct link *l)
{
	return l->header.e_type == ET_REL && l->header.e_ident[EI_CLASS] == ELFCLASS64 &&
	       l->header.e_ident[EI_DATA] ==
	       (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB);
}

int symrel_link(int fd, const struct symrel_place *place, uint8_t **ret_image,
		size_t *ret_n_bytes)
{
	__attribute__((cleanup(link_done))) struct link l = { .place = place, .fd = fd };
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EINVAL;
	l.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!l.elf || elf_kind(l.elf) != ELF_K_ELF || !gelf_getehdr(l.elf, &l.header) ||
	    !is_linkable(&l))
		return -EINVAL;
	l.arch = arch_of_machine(l.header.e_machine);
	dwsection_init(&l.from, l.elf, fd);
	l.from.deadline_ns = place->deadline_ns;
	int r = list_sections(&l);
	if (r < 0 || (r = copy_sections(&l)) < 0 || (r = relocate_all(&l)) < 0)
		return r;
	write_headers(&l);
	*ret_image = l.image;
	*ret_n_bytes = l.n_image_bytes;
	l.image = NULL;
	return 0;
}
