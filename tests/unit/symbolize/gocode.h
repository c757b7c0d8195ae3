#ifndef CPROF_TESTS_GOCODE_H
#define CPROF_TESTS_GOCODE_H

/* An ELF file of Go code made of given bytes. */

#include <elf.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GOCODE_TABLE 0x500000u
#define GOCODE_TEXT 0x401000u   /* where Go's code begins */
#define GOCODE_MODULE 0x700000u
#define GOCODE_EH_FRAME 0x800000u
#define GOCODE_BUILDINFO 0x900000u

struct gocode_part {
	const void *p;
	size_t n;
};

struct gocode {
	unsigned int machine;
	struct gocode_part table, text, rela, module, eh_frame; /* n 0: an empty section */
	struct gocode_part buildinfo, symbols, strings;
	size_t n_before;        /* how many bytes of text precede Go's code */
};

/* A descriptor of the file, the caller's; -1. */
static inline int gocode_file(const struct gocode *g)
{
	static const char names[] = "\0.gopclntab\0.text\0.rela\0.go.module\0.eh_frame\0.shstrtab"
				    "\0.go.buildinfo\0.symtab\0.strtab";
	enum { TABLE, TEXT, RELA, MODULE, EH_FRAME, BUILDINFO, SYMBOLS, STRINGS, NAMES, N };
	const struct gocode_part part[N] = { g->table, g->text, g->rela, g->module, g->eh_frame,
		g->buildinfo, g->symbols, g->strings, { names, sizeof(names) } };
	const uint32_t name[N] = { 1, 12, 18, 24, 35, 55, 69, 77, 45 };
	const uint64_t vaddr[N] = { GOCODE_TABLE, GOCODE_TEXT - g->n_before, 0x600000,
		GOCODE_MODULE, GOCODE_EH_FRAME, GOCODE_BUILDINFO, 0, 0, 0 };
	const uint32_t type[N] = { SHT_PROGBITS, SHT_PROGBITS, SHT_RELA, SHT_PROGBITS,
		SHT_PROGBITS, SHT_PROGBITS, SHT_SYMTAB, SHT_STRTAB, SHT_STRTAB };
	struct { Elf64_Ehdr eh; Elf64_Phdr ph; Elf64_Shdr sh[N + 1]; } h = { .eh = {
		.e_type = ET_EXEC, .e_machine = (Elf64_Half)g->machine, .e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr), .e_shoff = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr),
		.e_ehsize = sizeof(Elf64_Ehdr), .e_phentsize = sizeof(Elf64_Phdr), .e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr), .e_shnum = N + 1, .e_shstrndx = N } };
	memcpy(h.eh.e_ident, ELFMAG, SELFMAG);
	h.eh.e_ident[EI_CLASS] = ELFCLASS64;
	h.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	h.eh.e_ident[EI_VERSION] = EV_CURRENT;
	int fd = memfd_create("go", MFD_CLOEXEC);
	uint64_t off = sizeof(h);
	for (int i = 0; i < N; i++) {
		h.sh[i + 1] = (Elf64_Shdr){ .sh_name = name[i], .sh_type = type[i],
			.sh_flags = vaddr[i] ? SHF_ALLOC : 0, .sh_addr = vaddr[i],
			.sh_offset = off, .sh_size = part[i].n };
		if (part[i].n && pwrite(fd, part[i].p, part[i].n, (off_t)off) < 0)
			h.sh[i + 1].sh_size = 0;
		off += (part[i].n + 15) & ~(size_t)15;
	}
	h.ph = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = vaddr[TEXT],
		.p_offset = h.sh[TEXT + 1].sh_offset, .p_filesz = g->text.n,
		.p_memsz = g->text.n };
	if (pwrite(fd, &h, sizeof(h), 0) == (ssize_t)sizeof(h))
		return fd;
	close(fd);
	return -1;
}

#endif
