#ifndef CPROF_TESTS_GOCODE_H
#define CPROF_TESTS_GOCODE_H

/* An ELF file with code and a .gopclntab, and relocations of it, made of given bytes. */

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GOCODE_TABLE 0x500000u
#define GOCODE_TEXT 0x401000u

struct gocode_part {
	const void *p;
	size_t n;
};

/* A descriptor of the file, the caller's; -1. */
static inline int gocode_file(unsigned int machine, struct gocode_part table,
			      struct gocode_part text, struct gocode_part rela)
{
	static const char names[] = "\0.gopclntab\0.text\0.rela\0.shstrtab";
	const struct gocode_part part[4] = { table, text, rela, { names, sizeof(names) } };
	const uint32_t name[4] = { 1, 12, 18, 24 };
	const uint64_t vaddr[4] = { GOCODE_TABLE, GOCODE_TEXT, 0x600000, 0 };
	const uint32_t type[4] = { SHT_PROGBITS, SHT_PROGBITS, SHT_RELA, SHT_STRTAB };
	struct { Elf64_Ehdr eh; Elf64_Phdr ph; Elf64_Shdr sh[5]; } h = { .eh = {
		.e_type = ET_EXEC, .e_machine = (Elf64_Half)machine, .e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr), .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 5, .e_shstrndx = 4 } };
	memcpy(h.eh.e_ident, ELFMAG, SELFMAG);
	h.eh.e_ident[EI_CLASS] = ELFCLASS64;
	h.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	h.eh.e_ident[EI_VERSION] = EV_CURRENT;
	int fd = memfd_create("go", MFD_CLOEXEC);
	uint64_t off = sizeof(h);
	for (int i = 0; i < 4; i++) {
		h.sh[i + 1] = (Elf64_Shdr){ .sh_name = name[i], .sh_type = type[i],
			.sh_flags = i == 3 ? 0 : SHF_ALLOC, .sh_addr = vaddr[i],
			.sh_offset = off, .sh_size = part[i].n };
		if (part[i].n && pwrite(fd, part[i].p, part[i].n, (off_t)off) < 0)
			h.sh[i + 1].sh_size = 0;
		off += (part[i].n + 15) & ~(size_t)15;
	}
	h.ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = GOCODE_TEXT,
		.p_offset = h.sh[2].sh_offset, .p_filesz = text.n, .p_memsz = text.n };
	if (pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h))
		return fd;
	close(fd);
	return -1;
}

#endif
