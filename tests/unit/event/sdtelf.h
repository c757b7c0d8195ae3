#ifndef CPROF_TESTS_SDTELF_H
#define CPROF_TESTS_SDTELF_H

/* A 64-bit ELF file with notes of USDT probes: code at address 0x1000, data at 0x4000. */

#include <elf.h>
#include <stdint.h>
#include <string.h>

#define SDTELF_CODE 0x1000u
#define SDTELF_DATA 0x4000u
#define SDTELF_CODE_OFF 0x400u      /* in the file */
#define SDTELF_DATA_OFF 0x500u
#define SDTELF_NOTES_OFF 0x600u
#define SDTELF_BYTES 0x2000u

struct sdtelf {
	uint8_t bytes[SDTELF_BYTES];
	size_t n_notes;                 /* bytes */
};

static inline void sdtelf_text(uint8_t **at, const char *text)
{
	size_t n = strlen(text) + 1;
	memcpy(*at, text, n);
	*at += n;
}

static inline void sdtelf_add(struct sdtelf *f, uint64_t pc, uint64_t base, uint64_t semaphore,
			      const char *provider, const char *name, const char *args)
{
	uint8_t *start = f->bytes + SDTELF_NOTES_OFF + f->n_notes, *at = start + 20;
	const uint64_t address[3] = { pc, base, semaphore };
	memcpy(at, address, sizeof(address));
	at += sizeof(address);
	sdtelf_text(&at, provider);
	sdtelf_text(&at, name);
	sdtelf_text(&at, args);
	const uint32_t header[3] = { 8, (uint32_t)(at - start - 20), 3 };
	memcpy(start, header, sizeof(header));
	memcpy(start + 12, "stapsdt", 8);
	f->n_notes += (size_t)(at - start + 3) & ~(size_t)3;
}

/* Headers, once all notes were added.  base: the present address of .stapsdt.base. */
static inline void sdtelf_finish(struct sdtelf *f, uint16_t machine, uint64_t base)
{
	static const char names[] = "\0.note.stapsdt\0.stapsdt.base\0.shstrtab";
	Elf64_Ehdr *e = (void *)f->bytes;
	Elf64_Phdr *p = (void *)(f->bytes + sizeof(*e));
	Elf64_Shdr *s = (void *)(f->bytes + 0x1e00);
	*e = (Elf64_Ehdr){
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT },
		.e_type = ET_DYN, .e_machine = machine, .e_version = EV_CURRENT,
		.e_phoff = sizeof(*e), .e_shoff = 0x1e00, .e_ehsize = sizeof(*e),
		.e_phentsize = sizeof(*p), .e_phnum = 2, .e_shentsize = sizeof(*s), .e_shnum = 4,
		.e_shstrndx = 3,
	};
	p[0] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_vaddr = SDTELF_CODE,
			     .p_offset = SDTELF_CODE_OFF, .p_filesz = 0x100, .p_memsz = 0x100 };
	p[1] = (Elf64_Phdr){ .p_type = PT_LOAD, .p_flags = PF_R | PF_W, .p_vaddr = SDTELF_DATA,
			     .p_offset = SDTELF_DATA_OFF, .p_filesz = 0x80, .p_memsz = 0x100 };
	memcpy(f->bytes + 0x1d00, names, sizeof(names));
	s[1] = (Elf64_Shdr){ .sh_name = 1, .sh_type = SHT_NOTE, .sh_offset = SDTELF_NOTES_OFF,
			     .sh_size = f->n_notes, .sh_addralign = 4 };
	s[2] = (Elf64_Shdr){ .sh_name = 15, .sh_type = SHT_PROGBITS, .sh_addr = base,
			     .sh_offset = SDTELF_CODE_OFF, .sh_size = 1, .sh_addralign = 1 };
	s[3] = (Elf64_Shdr){ .sh_name = 29, .sh_type = SHT_STRTAB, .sh_offset = 0x1d00,
			     .sh_size = sizeof(names), .sh_addralign = 1 };
}

#endif
