/*
 * A probe is placed by file and offset: the kernel inserts it into every process that maps the
 * file.  The value of a symbol is an address, which the segment around it turns into the offset
 * (elf(5): p_offset, p_vaddr).  Versions in names ("memcpy@@GLIBC_2.14" in .symtab) are ignored.
 */
#include "event/evelf.h"

#include "base/cleanup.h"
#include "base/err.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>

#define SEGMENTS_MAX 256u        /* real files have some twenty */

static bool is_same(const char *name, const char *symbol)
{
	size_t n = strlen(symbol);
	return name && strncmp(name, symbol, n) == 0 && (name[n] == '\0' || name[n] == '@');
}

static bool find_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *symbol,
		    GElf_Sym *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	if (!data || !header->sh_entsize)
		return false;
	for (size_t i = 1; i < header->sh_size / header->sh_entsize; i++) {
		GElf_Sym s;
		if (!gelf_getsym(data, (int)i, &s))
			return false;
		unsigned type = GELF_ST_TYPE(s.st_info);
		if (s.st_shndx == SHN_UNDEF || !s.st_value ||
		    (type != STT_FUNC && type != STT_NOTYPE && type != STT_GNU_IFUNC))
			continue;
		if (is_same(elf_strptr(elf, header->sh_link, s.st_name), symbol)) {
			*ret = s;
			return true;
		}
	}
	return false;
}

static bool find_symbol(Elf *elf, const char *symbol, GElf_Sym *ret)
{
	for (Elf_Scn *s = NULL; (s = elf_nextscn(elf, s));) {
		GElf_Shdr header;
		if (gelf_getshdr(s, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM) &&
		    find_in(elf, s, &header, symbol, ret))
			return true;
	}
	return false;
}

bool evelf_file_off(Elf *elf, uint64_t vaddr, uint32_t flags, uint64_t *ret_file_off)
{
	size_t n;
	if (elf_getphdrnum(elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n && i < SEGMENTS_MAX; i++) {
		GElf_Phdr p;
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD ||
		    (p.p_flags & flags) != flags || vaddr < p.p_vaddr ||
		    vaddr - p.p_vaddr >= p.p_filesz)
			continue;
		*ret_file_off = vaddr - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

int evelf_find(const char *path, const char *symbol, uint64_t *ret_file_off,
	       uint64_t *ret_n_bytes, struct err *e)
{
	CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno, "cannot open '%s'", path);
	elf_version(EV_CURRENT);
	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	GElf_Sym s;
	int r = 0;
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		r = err_set(e, ENOEXEC, "'%s' is not an ELF file", path);
	} else if (!find_symbol(elf, symbol, &s)) {
		r = err_set(e, ENOENT, "'%s' has no function '%s'", path, symbol);
		err_hint(e, "'nm' and 'nm -D' list a file's symbols; there, functions in C++ and "
			    "Rust have mangled names");
	} else if (!evelf_file_off(elf, s.st_value, PF_X, ret_file_off)) {
		r = err_set(e, ENOENT, "'%s' has no code for '%s'", path, symbol);
	} else {
		*ret_n_bytes = s.st_size;
	}
	elf_end(elf);
	return r;
}
