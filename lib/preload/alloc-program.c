#include "preload/alloc-program.h"

#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/auxv.h>

#if defined(__x86_64__)
#define IS_ADDRESS(type) ((type) == R_X86_64_JUMP_SLOT || (type) == R_X86_64_GLOB_DAT)
#elif defined(__aarch64__)
#define IS_ADDRESS(type) ((type) == R_AARCH64_JUMP_SLOT || (type) == R_AARCH64_GLOB_DAT)
#endif

struct tables {
	const Elf64_Sym *symbol;
	const char *name;
	const Elf64_Rela *rela[2];
	size_t n_bytes[2];
};

static const Elf64_Dyn *find_dynamic(uint64_t *ret_base)
{
	const Elf64_Phdr *p = (const Elf64_Phdr *)getauxval(AT_PHDR), *dynamic = NULL;
	*ret_base = 0;
	for (uint64_t n = getauxval(AT_PHNUM); n-- > 0; p++) {
		if (p->p_type == PT_PHDR)
			*ret_base = getauxval(AT_PHDR) - p->p_vaddr;
		if (p->p_type == PT_DYNAMIC)
			dynamic = p;
	}
	return dynamic ? (const Elf64_Dyn *)(*ret_base + dynamic->p_vaddr) : NULL;
}

/* Some loaders have added the base to the addresses in the table. */
static const void *at(uint64_t base, uint64_t address)
{
	return (const void *)(address < base ? address + base : address);
}

static bool read_tables(struct tables *t)
{
	uint64_t base;
	const Elf64_Dyn *d = find_dynamic(&base);
	for (; d && d->d_tag != DT_NULL; d++) {
		switch (d->d_tag) {
		case DT_SYMTAB: t->symbol = at(base, d->d_un.d_ptr); break;
		case DT_STRTAB: t->name = at(base, d->d_un.d_ptr); break;
		case DT_JMPREL: t->rela[0] = at(base, d->d_un.d_ptr); break;
		case DT_PLTRELSZ: t->n_bytes[0] = d->d_un.d_val; break;
		case DT_RELA: t->rela[1] = at(base, d->d_un.d_ptr); break;
		case DT_RELASZ: t->n_bytes[1] = d->d_un.d_val; break;
		}
	}
	return t->symbol && t->name;
}

static bool begins_with(const char *s, const char *prefix)
{
	while (*prefix && *s == *prefix)
		s++, prefix++;
	return !*prefix;
}

bool alloc_program_refers_to(const char *prefix)
{
	struct tables t = { .symbol = NULL };
	if (!read_tables(&t))
		return false;
	for (int k = 0; k < 2; k++)
		for (size_t i = 0; t.rela[k] && i < t.n_bytes[k] / sizeof(Elf64_Rela); i++) {
			uint64_t info = t.rela[k][i].r_info;
			if (IS_ADDRESS(ELF64_R_TYPE(info)) &&
			    begins_with(t.name + t.symbol[ELF64_R_SYM(info)].st_name, prefix))
				return true;
		}
	return false;
}
