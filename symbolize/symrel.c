#include "symbolize/symrel.h"

#include "base/cleanup.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * In a relocatable file each section begins at zero, and what debug information says of addresses,
 * strings and other sections waits for the linker.  So the linker's work is done here, for the
 * debug sections alone: these are unpacked and copied behind each other, and relocated by the
 * addresses where the kernel has put the sections with code.  A debug section itself lies at zero,
 * as in linked files.  A relocation that is not understood gives up the file: lines and names that
 * are wrong are worse than none.
 *
 * The file is read, not mapped, for the reason that symelf.c gives.
 */

#define SECTIONS_MAX 65536

struct link_section {
	const char *name;        /* the ELF handle's */
	uint64_t address;        /* of one with code or data; 0: unknown, or of no matter */
	bool is_debug;
	uint64_t image_off, n_bytes;
};

struct link {
	Elf *elf;
	GElf_Ehdr header;
	const struct symrel_place *place;
	struct link_section *section;
	size_t n_sections, n_debug;
	uint8_t *image;
	uint64_t n_image_bytes;
	uint64_t names_off, n_names_bytes, headers_off;
};

static void link_done(struct link *l)
{
	elf_end(l->elf);
	free(l->section);
	free(l->image);
}

/* ---- sections -------------------------------------------------------------- */

/* Unpacks it, if it is packed; its size then. */
static int unpacked_bytes(Elf_Scn *scn, GElf_Shdr *sh)
{
	GElf_Chdr packed;
	if (!(sh->sh_flags & SHF_COMPRESSED))
		return 0;
	if (!gelf_getchdr(scn, &packed))
		return -EINVAL;
	if (packed.ch_size > SYMREL_BYTES_MAX)
		return -EFBIG;
	return elf_compress(scn, 0, 0) >= 0 && gelf_getshdr(scn, sh) ? 0 : -EINVAL;
}

static int list_section(struct link *l, Elf_Scn *scn, size_t names)
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
		if (!l->place->find(l->place->ctx, s->name, &s->address))
			s->address = 0;
		return 0;
	}
	if (sh.sh_type != SHT_PROGBITS || strncmp(s->name, ".debug_", 7) != 0)
		return 0;
	int code = unpacked_bytes(scn, &sh);
	if (code < 0)
		return code;
	s->is_debug = true;
	s->image_off = (l->n_image_bytes + 15) & ~(uint64_t)15;
	s->n_bytes = sh.sh_size;
	if (s->n_bytes > SYMREL_BYTES_MAX || s->image_off + s->n_bytes > SYMREL_BYTES_MAX)
		return -EFBIG;
	l->n_image_bytes = s->image_off + s->n_bytes;
	l->n_names_bytes += strlen(s->name) + 1;
	l->n_debug++;
	return 0;
}

static int list_sections(struct link *l)
{
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
		int code = list_section(l, scn, names);
		if (code < 0)
			return code;
	}
	return l->n_debug ? 0 : -EINVAL;
}

static int copy_sections(struct link *l)
{
	l->names_off = l->n_image_bytes;
	l->headers_off = (l->names_off + l->n_names_bytes + 15) & ~(uint64_t)15;
	l->n_image_bytes = l->headers_off + (l->n_debug + 2) * sizeof(Elf64_Shdr);
	l->image = calloc(1, l->n_image_bytes);
	if (!l->image)
		return -ENOMEM;
	for (size_t i = 1; i < l->n_sections; i++) {
		const struct link_section *s = &l->section[i];
		Elf_Data *data = s->is_debug ? elf_rawdata(elf_getscn(l->elf, i), NULL) : NULL;
		if (!s->is_debug || !s->n_bytes)
			continue;
		if (!data || !data->d_buf || data->d_size != s->n_bytes)
			return -EINVAL;
		memcpy(l->image + s->image_off, data->d_buf, s->n_bytes);
	}
	return 0;
}

/* ---- relocations ----------------------------------------------------------- */

/* How many bytes a relocation of that type writes (x86-64 psABI, table 4.9; AAELF64, 5.7.4): what
 * is written is S + A in all of them.  0: nothing, -1: not known here. */
static int bytes_of_type(uint16_t machine, uint32_t type)
{
	if (machine == EM_X86_64)
		return type == R_X86_64_NONE ? 0 : type == R_X86_64_64 ? 8
		       : type == R_X86_64_32 || type == R_X86_64_32S ? 4 : -1;
	if (machine == EM_AARCH64)
		return type == R_AARCH64_NONE ? 0 : type == R_AARCH64_ABS64 ? 8
		       : type == R_AARCH64_ABS32 ? 4 : -1;
	return -1;
}

static bool symbol_value(const struct link *l, Elf_Data *symbols, size_t i, uint64_t *ret)
{
	GElf_Sym sym;
	if (i > INT32_MAX || !gelf_getsym(symbols, (int)i, &sym))
		return false;
	*ret = sym.st_shndx == SHN_UNDEF ? 0 : sym.st_value;
	if (sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS)
		return true;
	if (sym.st_shndx == SHN_COMMON) {
		*ret = 0;    /* a variable; st_value is its alignment */
		return true;
	}
	if (sym.st_shndx >= l->n_sections)
		return false;
	const struct link_section *s = &l->section[sym.st_shndx];
	/* What lies nowhere known is at zero, which debug information takes for left out. */
	*ret = s->is_debug ? sym.st_value : s->address ? s->address + sym.st_value : 0;
	return true;
}

/* Is the address itself unknown?  Then its addend must not make it look like one. */
static bool is_nowhere(const struct link *l, Elf_Data *symbols, size_t i)
{
	GElf_Sym sym;
	return gelf_getsym(symbols, (int)i, &sym) && sym.st_shndx != SHN_UNDEF &&
	       sym.st_shndx < l->n_sections && !l->section[sym.st_shndx].is_debug &&
	       l->section[sym.st_shndx].address == 0;
}

static int relocate(struct link *l, const struct link_section *s, Elf_Data *symbols,
		    const GElf_Rela *r)
{
	uint64_t value;
	int n = bytes_of_type(l->header.e_machine, (uint32_t)GELF_R_TYPE(r->r_info));
	if (n <= 0)
		return n ? -ENOTSUP : 0;
	if (r->r_offset > s->n_bytes || s->n_bytes - r->r_offset < (uint64_t)n ||
	    !symbol_value(l, symbols, GELF_R_SYM(r->r_info), &value))
		return -EINVAL;
	if (!is_nowhere(l, symbols, GELF_R_SYM(r->r_info)))
		value += (uint64_t)r->r_addend;
	else if (strcmp(s->name, ".debug_ranges") == 0)
		value = 1;   /* a pair of zeros would end the unit's list (DWARF 4, 2.17.3) */
	uint32_t value32 = (uint32_t)value;
	memcpy(l->image + s->image_off + r->r_offset, n == 8 ? (void *)&value : &value32,
	       (size_t)n);
	return 0;
}

static int relocate_section(struct link *l, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *relocations = elf_getdata(scn, NULL);
	Elf_Scn *table = elf_getscn(l->elf, sh->sh_link);
	Elf_Data *symbols = table ? elf_getdata(table, NULL) : NULL;
	const struct link_section *s = &l->section[sh->sh_info];
	if (!relocations || !symbols || symbols->d_type != ELF_T_SYM)
		return sh->sh_size ? -EINVAL : 0;
	size_t n = relocations->d_size / sizeof(Elf64_Rela);
	for (size_t i = 0; i < n && i <= INT32_MAX; i++) {
		GElf_Rela r;
		if (!gelf_getrela(relocations, (int)i, &r))
			return -EINVAL;
		int code = relocate(l, s, symbols, &r);
		if (code < 0)
			return code;
	}
	return 0;
}

static int relocate_all(struct link *l)
{
	for (Elf_Scn *scn = NULL; (scn = elf_nextscn(l->elf, scn));) {
		GElf_Shdr sh;
		if (!gelf_getshdr(scn, &sh) || (sh.sh_type != SHT_RELA && sh.sh_type != SHT_REL) ||
		    sh.sh_info >= l->n_sections || !l->section[sh.sh_info].is_debug)
			continue;
		int code = sh.sh_type == SHT_REL ? -ENOTSUP : unpacked_bytes(scn, &sh);
		if (code == 0)
			code = relocate_section(l, scn, &sh);
		if (code < 0)
			return code;
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
		if (!s->is_debug)
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
	__attribute__((cleanup(link_done))) struct link l = { .place = place };
	if (elf_version(EV_CURRENT) == EV_NONE)
		return -EINVAL;
	l.elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!l.elf || elf_kind(l.elf) != ELF_K_ELF || !gelf_getehdr(l.elf, &l.header) ||
	    !is_linkable(&l))
		return -EINVAL;
	int code = list_sections(&l);
	if (code == 0 && l.n_debug >= SHN_LORESERVE - 2)
		code = -EFBIG;
	if (code == 0)
		code = copy_sections(&l);
	if (code == 0)
		code = relocate_all(&l);
	if (code < 0)
		return code;
	write_headers(&l);
	*ret_image = l.image;
	*ret_n_bytes = l.n_image_bytes;
	l.image = NULL;
	return 0;
}
