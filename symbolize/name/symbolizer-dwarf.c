/*
 * gcc's DWARF has no linkage names for C++ functions that are local to a file (static, anonymous
 * namespace).  For these, the symbol's name is used, if it is the mangled form of the same name.  A
 * function whose name is in a missing file (dwz's common one) gets its symbol's name, too.
 */

#include "symbolize/name/symbolizer-private.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/strtab.h"
#include "symbolize/name/demangle.h"
#include "symbolize/elf/symelf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t symbolizer_deadline(uint64_t timeout_ns)
{
	uint64_t now_ns = clock_monotonic_ns();
	return timeout_ns && timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : 0;
}

/* Looks the addresses up in DWARF: one result each into *ret_addr, which the caller frees. */
int symbolizer_ask_dwarf(struct symdwarf *dwarf, const struct symaddr *addr, size_t n,
			 struct symdwarf_addr **ret_addr)
{
	CLEANUP_FREE struct symdwarf_addr *da = calloc(n, sizeof(*da));
	if (!da)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		da[i].vaddr = addr[i].vaddr;
	int r = symdwarf_resolve(dwarf, da, n);
	if (r < 0)
		return r;
	*ret_addr = TAKE_PTR(da);
	return 0;
}

/* Can symbol, "_ZL3fooIiEvv.part.0", be the mangled form of DWARF's name, "foo<int>"? */
static bool is_mangled_form(const char *symbol, const char *name)
{
	if (!demangle_is_mangled(symbol))
		return false;
	if (!name || strncmp(name, "operator", 8) == 0)
		return true;
	char plain[256];
	name += *name == '~';
	size_t n = strcspn(name, "<");
	if (n == 0 || n >= sizeof(plain))
		return true;
	snprintf(plain, sizeof(plain), "%.*s", (int)n, name);
	return strstr(symbol, plain) != NULL;
}

/* Names of the outermost function, if DWARF has no linkage name.  The clone suffix of an outlined
 * part is cut off, because the DIE is that of the whole function. */
static bool set_names_of_outermost(struct symbolizer_batch *b, struct symelf *elf, uint64_t vaddr,
				   const struct symdwarf_frame *f, struct symline *line)
{
	const char *name;
	const struct symtab_symbol *symbol = elf ? symelf_find(elf, vaddr, &name) : NULL;
	if (!symbol || (f->name && !is_mangled_form(name, f->name)))
		return !f->name || symbolizer_set_names(b, f->name, line);
	size_t n = 1 + strcspn(name + 1, ".");
	char *linkage = strndup(name, n);
	bool ok = linkage && symbolizer_set_names(b, linkage, line);
	free(linkage);
	return ok;
}

/* A C function with an assembler name: abort is __GI_abort within glibc. */
static bool set_both_names(struct symbolizer_batch *b, const struct symdwarf_frame *f,
			   struct symline *line)
{
	line->linkage = strtab_add_cstr(b->strings, f->linkage);
	line->name = strtab_add_cstr(b->strings, f->name);
	return line->linkage && line->name;
}

struct symline symbolizer_position(struct symbolizer_batch *b, const struct symdwarf_frame *f)
{
	return (struct symline){
		.file = symbolizer_file_id(b, f->dir, f->file),
		.line = f->line, .column = f->column,
	};
}

bool symbolizer_add_dwarf_chain(struct symbolizer_batch *b, struct symelf *elf,
				struct symaddr *a, const struct symdwarf_addr *da,
				const struct symdwarf_frame *frame)
{
	a->source = SYMBOLIZER_DWARF;
	for (uint32_t i = 0; i < da->n; i++) {
		const struct symdwarf_frame *f = &frame[da->first + i];
		struct symline line = symbolizer_position(b, f);
		bool ok = true;
		line.start_line = f->start_line;
		if (f->linkage && f->name && !demangle_is_mangled(f->linkage))
			ok = set_both_names(b, f, &line);
		else if (f->linkage)
			ok = symbolizer_set_names(b, f->linkage, &line);
		else if (i + 1 == da->n && (!f->name || !da->is_plain))
			ok = set_names_of_outermost(b, elf, a->vaddr, f, &line);
		else if (f->name)
			ok = symbolizer_set_names(b, f->name, &line);
		if (ok && !line.name)
			line.name = line.linkage = symbolizer_made_up_name(b, a->vaddr);
		if (!ok || !symbolizer_add_line(b, a, &line))
			return false;
	}
	b->has.inline_frames = true;
	return true;
}
