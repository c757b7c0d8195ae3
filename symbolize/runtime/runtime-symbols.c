#include "symbolize/runtime/runtime-symbols.h"

#include "symbolize/cfi/cfi.h"

#include <elf.h>
#include <stdbool.h>
#include <string.h>

#define SYMBOLS_MAX (1u << 22)

static bool is_name(struct cfi_section *strings, uint32_t off, const char *name)
{
	size_t n = strlen(name) + 1;
	const uint8_t *text = cfi_section_get(strings, off, n);
	return text && memcmp(text, name, n) == 0;
}

static void find_in(struct cfi_section *table, struct cfi_section *strings,
		    struct runtime_symbol *symbol, size_t n)
{
	size_t n_rows = table->n_bytes / sizeof(Elf64_Sym), n_left = n;
	for (size_t i = 0; i < n_rows && i < SYMBOLS_MAX && n_left; i++) {
		Elf64_Sym s;
		const uint8_t *row = cfi_section_get(table, i * sizeof(s), sizeof(s));
		if (!row)
			return;
		memcpy(&s, row, sizeof(s));
		unsigned int type = ELF64_ST_TYPE(s.st_info);
		if ((type != STT_OBJECT && type != STT_FUNC) || s.st_shndx == SHN_UNDEF)
			continue;
		for (size_t k = 0; k < n; k++) {
			struct runtime_symbol *y = &symbol[k];
			if (y->vaddr || y->is_function != (type == STT_FUNC) ||
			    s.st_size < y->min_bytes || s.st_size > y->max_bytes ||
			    !is_name(strings, s.st_name, y->name))
				continue;
			y->vaddr = s.st_value;
			y->n_bytes = s.st_size;
			n_left--;
		}
	}
}

void runtime_symbols_find(struct cfi *c, enum runtime_symbols which, struct runtime_symbol *symbol,
			  size_t n)
{
	bool is_dynamic = which == RUNTIME_SYMBOLS_DYNAMIC;
	struct cfi_place place, text;
	struct cfi_section table = { .fd = -1 }, strings = { .fd = -1 };
	for (size_t k = 0; k < n; k++)
		symbol[k].vaddr = symbol[k].n_bytes = 0;
	if (!cfi_find_section(c, is_dynamic ? ".dynsym" : ".symtab", &place) ||
	    !cfi_find_section(c, is_dynamic ? ".dynstr" : ".strtab", &text) ||
	    cfi_open_place(c, &place, &table) < 0)
		return;
	if (cfi_open_place(c, &text, &strings) == 0) {
		find_in(&table, &strings, symbol, n);
		cfi_section_done(&strings);
	}
	cfi_section_done(&table);
}
