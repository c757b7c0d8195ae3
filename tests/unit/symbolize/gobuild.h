#ifndef CPROF_TESTS_GOBUILD_H
#define CPROF_TESTS_GOBUILD_H

/* An ELF file in memory with a .gopclntab, .rodata and .data made of given bytes. */

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define GOBUILD_TABLE 0x10000u
#define GOBUILD_RODATA 0x200000u
#define GOBUILD_DATA 0x300000u

struct gobuild_part {
	const void *p;
	size_t n;
};

/* The caller frees the result; *ret_n is its size. */
static inline void *gobuild_elf(struct gobuild_part table, struct gobuild_part rodata,
				struct gobuild_part data, size_t *ret_n)
{
	static const char names[] = "\0.gopclntab\0.rodata\0.data\0.shstrtab";
	const struct gobuild_part part[4] = { table, rodata, data, { names, sizeof(names) } };
	const uint64_t vaddr[4] = { GOBUILD_TABLE, GOBUILD_RODATA, GOBUILD_DATA, 0 };
	const uint32_t name[4] = { 1, 12, 20, 26 };
	size_t off = sizeof(Elf64_Ehdr) + 5 * sizeof(Elf64_Shdr), n = off;
	for (int i = 0; i < 4; i++)
		n += (part[i].n + 15) & ~(size_t)15;
	uint8_t *file = calloc(1, n);
	if (!file)
		return NULL;
	Elf64_Ehdr *eh = (void *)file;
	Elf64_Shdr *sh = (void *)(file + sizeof(*eh));
	memcpy(eh->e_ident, ELFMAG, SELFMAG);
	eh->e_ident[EI_CLASS] = ELFCLASS64;
	eh->e_ident[EI_DATA] = ELFDATA2LSB;
	eh->e_ident[EI_VERSION] = EV_CURRENT;
	eh->e_type = ET_EXEC;
	eh->e_machine = EM_X86_64;
	eh->e_version = EV_CURRENT;
	eh->e_ehsize = sizeof(*eh);
	eh->e_shoff = sizeof(*eh);
	eh->e_shentsize = sizeof(*sh);
	eh->e_shnum = 5;
	eh->e_shstrndx = 4;
	for (int i = 0; i < 4; i++) {
		sh[i + 1] = (Elf64_Shdr){
			.sh_name = name[i], .sh_type = i == 3 ? SHT_STRTAB : SHT_PROGBITS,
			.sh_flags = i == 3 ? 0 : i == 2 ? SHF_ALLOC | SHF_WRITE : SHF_ALLOC,
			.sh_addr = vaddr[i], .sh_offset = off, .sh_size = part[i].n,
			.sh_addralign = 1,
		};
		if (part[i].n)
			memcpy(file + off, part[i].p, part[i].n);
		off += (part[i].n + 15) & ~(size_t)15;
	}
	*ret_n = n;
	return file;
}

#endif
