#include "tests/unit/symbolize/elfsymbols.h"

#include "symbolize/cfi/cfi.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SECTION_NAMES = 0x400, NAMES = 0x800 };

static size_t names_bytes(const struct elfsymbols_symbol *symbol, size_t n)
{
	size_t n_bytes = 1;
	for (size_t i = 0; i < n; i++)
		n_bytes += strlen(symbol[i].name) + 1;
	return n_bytes;
}

static void put_symbols(uint8_t *file, size_t symbols_at, const struct elfsymbols_symbol *symbol,
			size_t n)
{
	size_t at = 1;
	for (size_t i = 0; i < n; i++) {
		const struct elfsymbols_symbol *y = &symbol[i];
		Elf64_Sym s = {
			.st_name = (uint32_t)at, .st_shndx = 1, .st_value = y->vaddr,
			.st_info = ELF64_ST_INFO(STB_GLOBAL,
						 y->is_function ? STT_FUNC : STT_OBJECT),
			.st_size = y->n_bytes,
		};
		memcpy(file + NAMES + at, y->name, strlen(y->name));
		at += strlen(y->name) + 1;
		memcpy(file + symbols_at + sizeof(s) * (i + 1), &s, sizeof(s));
	}
}

int elfsymbols_open(const struct elfsymbols_symbol *symbol, size_t n, struct cfi **ret_cfi)
{
	static const char sections[] = "\0.dynsym\0.dynstr\0.shstrtab";
	size_t n_names = names_bytes(symbol, n), symbols_at = (NAMES + n_names + 7) & ~(size_t)7;
	size_t n_bytes = symbols_at + sizeof(Elf64_Sym) * (n + 1);
	const Elf64_Ehdr eh = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			     EV_CURRENT },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = EV_CURRENT,
		.e_ehsize = sizeof(eh), .e_shoff = sizeof(eh), .e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 4, .e_shstrndx = 3,
	};
	const Elf64_Shdr sh[4] = {
		{ .sh_type = SHT_NULL },
		{ .sh_name = 1, .sh_type = SHT_DYNSYM, .sh_offset = symbols_at,
		  .sh_size = sizeof(Elf64_Sym) * (n + 1) },
		{ .sh_name = 9, .sh_type = SHT_STRTAB, .sh_offset = NAMES, .sh_size = n_names },
		{ .sh_name = 17, .sh_type = SHT_STRTAB, .sh_offset = SECTION_NAMES,
		  .sh_size = sizeof(sections) },
	};
	uint8_t *file = calloc(1, n_bytes);
	if (!file)
		return -1;
	memcpy(file, &eh, sizeof(eh));
	memcpy(file + sizeof(eh), sh, sizeof(sh));
	memcpy(file + SECTION_NAMES, sections, sizeof(sections));
	put_symbols(file, symbols_at, symbol, n);
	int fd = memfd_create("library.so", MFD_CLOEXEC);
	bool is_written = fd >= 0 && write(fd, file, n_bytes) == (ssize_t)n_bytes;
	free(file);
	if (is_written && cfi_open_file(fd, ret_cfi) == 0)
		return fd;
	close(fd);
	return -1;
}
