/*
 * Tables are read from their start to their end: symbols are sorted neither by name nor by address,
 * and the hash tables of .dynsym find whole names only.
 */

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

/* The tables of a file; false: it has none, or they cannot be read. */
static bool open_tables(struct cfi *c, enum runtime_symbols which, struct cfi_section *table,
			struct cfi_section *strings)
{
	bool is_dynamic = which == RUNTIME_SYMBOLS_DYNAMIC;
	struct cfi_place place, text;
	if (!cfi_find_section(c, is_dynamic ? ".dynsym" : ".symtab", &place) ||
	    !cfi_find_section(c, is_dynamic ? ".dynstr" : ".strtab", &text) ||
	    cfi_open_place(c, &place, table) < 0)
		return false;
	if (cfi_open_place(c, &text, strings) == 0)
		return true;
	cfi_section_done(table);
	return false;
}

/* Symbol i; false: there are no more. */
static bool read_symbol(struct cfi_section *table, size_t i, Elf64_Sym *ret)
{
	const uint8_t *row = i < SYMBOLS_MAX ?
		cfi_section_get(table, i * sizeof(*ret), sizeof(*ret)) : NULL;
	if (row)
		memcpy(ret, row, sizeof(*ret));
	return row;
}

/* The name at off; NULL: it is too long. */
static const char *name_at(struct cfi_section *strings, uint32_t off)
{
	size_t n = off < strings->n_bytes ? strings->n_bytes - off : 0;
	n = n < RUNTIME_SYMBOLS_NAME_BYTES ? n : RUNTIME_SYMBOLS_NAME_BYTES;
	const uint8_t *text = cfi_section_get(strings, off, n);
	return text && memchr(text, '\0', n) ? (const char *)text : NULL;
}

static bool begins(const char *name, const char *const *prefix, size_t n)
{
	bool is_one = false;
	for (size_t i = 0; i < n && !is_one; i++)
		is_one = strncmp(name, prefix[i], strlen(prefix[i])) == 0;
	return is_one;
}

void runtime_symbols_each(struct cfi *c, enum runtime_symbols which, const char *const *prefix,
			  size_t n, void (*take)(void *ctx, const char *name, uint64_t vaddr),
			  void *ctx)
{
	struct cfi_section table = { .fd = -1 }, strings = { .fd = -1 };
	Elf64_Sym s;
	if (!open_tables(c, which, &table, &strings))
		return;
	for (size_t i = 0; read_symbol(&table, i, &s); i++) {
		unsigned int type = ELF64_ST_TYPE(s.st_info);
		bool is_own = (type == STT_OBJECT || type == STT_FUNC) && s.st_shndx != SHN_UNDEF;
		const char *name = is_own ? name_at(&strings, s.st_name) : NULL;
		if (name && begins(name, prefix, n))
			take(ctx, name, s.st_value);
	}
	cfi_section_done(&strings);
	cfi_section_done(&table);
}

static void find_in(struct cfi_section *table, struct cfi_section *strings,
		    struct runtime_symbol *symbol, size_t n)
{
	size_t n_left = n;
	Elf64_Sym s;
	for (size_t i = 0; n_left && read_symbol(table, i, &s); i++) {
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
	struct cfi_section table = { .fd = -1 }, strings = { .fd = -1 };
	for (size_t k = 0; k < n; k++)
		symbol[k].vaddr = symbol[k].n_bytes = 0;
	if (!open_tables(c, which, &table, &strings))
		return;
	find_in(&table, &strings, symbol, n);
	cfi_section_done(&strings);
	cfi_section_done(&table);
}
