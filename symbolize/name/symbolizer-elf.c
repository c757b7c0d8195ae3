/*
 * The first source that has a name wins:
 *
 *  1. functions of DWARF, which alone has inlined calls
 *  2. a runtime's own table
 *  3. .symtab or .dynsym
 *  4. the linker's stubs
 *  5. a made-up name
 *
 * The line may come from DWARF where the function does not (assembler, -gline-tables-only).
 */

#include "symbolize/name/symbolizer-private.h"

#include "symbolize/elf/dso.h"
#include "symbolize/elf/symdebug.h"
#include "symbolize/elf/symelf.h"
#include "symbolize/elf/elfcache.h"
#include "symbolize/runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>

#define RUNTIME_FRAMES_MAX 64

/*
 * A symbol without a size extends to the next one.  In files without local symbols that may be far:
 * OCaml marks the end of a module's code, and C functions follow.  So the symbol does not name a
 * function that, by its CFI, begins after the symbol.
 */
static bool is_its_name(struct symbolizer_batch *b, const struct symtab_symbol *symbol,
			uint64_t vaddr)
{
	uint64_t start;
	return symbol->sized || !symbolizer_find_start(b, vaddr, &start) || start <= symbol->start;
}

static bool add_symbol(struct symbolizer_batch *b, struct symelf *elf, struct symaddr *a,
		       struct symline line)
{
	const char *name;
	const struct symtab_symbol *symbol = symelf_find(elf, a->vaddr, &name);
	if (symbol && is_its_name(b, symbol, a->vaddr)) {
		a->source = symbol->is_dynamic ? SYMBOLIZER_DYNSYM : SYMBOLIZER_SYMTAB;
		return symbolizer_set_names(b, name, &line) &&
		       symbolizer_add_line(b, a, &line);
	}
	const char *target = symelf_find_plt(elf, a->vaddr);
	if (target) {
		a->source = SYMBOLIZER_PLT;
		return symbolizer_set_plt_names(b, target, &line) &&
		       symbolizer_add_line(b, a, &line);
	}
	return symbolizer_add_made_up(b, a, line);
}

/* Looks the address up in a runtime's own table; *ret_done is set if it is there. */
static bool add_runtime_chain(struct symbolizer_batch *b, const struct runtime_names *names,
			      struct symaddr *a, bool *ret_done)
{
	struct symdwarf_frame frame[RUNTIME_FRAMES_MAX];
	size_t n = runtime_names_find(names, a->vaddr, frame, RUNTIME_FRAMES_MAX);
	*ret_done = n > 0;
	a->source = SYMBOLIZER_RUNTIME;
	for (size_t i = 0; i < n; i++) {
		struct symline line = {
			.file = symbolizer_file_id(b, NULL, frame[i].file),
			.line = frame[i].line, .start_line = frame[i].start_line,
		};
		if (!symbolizer_set_names(b, frame[i].name, &line) ||
		    !symbolizer_add_line(b, a, &line))
			return false;
	}
	b->has.inline_frames |= n > 0;
	return true;
}

static int resolve_open_elf(struct symbolizer_batch *b, struct symelf *elf, struct symdwarf *dwarf,
			    struct symaddr *addr, size_t n)
{
	struct symdwarf_addr *da = NULL;
	int r = dwarf ? symbolizer_ask_dwarf(dwarf, addr, n, &da) : 0;
	const struct symdwarf_frame *frame = dwarf ? symdwarf_frames(dwarf) : NULL;
	struct runtime_names names = { 0 };
	bool names_tried = false, done = false;
	for (size_t i = 0; i < n && r == 0; i++) {
		struct symline line = {0};
		bool ok;
		bool by_dwarf = da && da[i].has_function;
		if (!by_dwarf && !names_tried) {
			names_tried = true;
			runtime_names_open(elf->elf, &names);
		}
		if (by_dwarf) {
			ok = symbolizer_add_dwarf_chain(b, elf, &addr[i], &da[i], frame);
		} else if (!(ok = add_runtime_chain(b, &names, &addr[i], &done)) || done) {
			;
		} else {
			if (da && da[i].n) {
				const struct symdwarf_frame *f = &frame[da[i].first];
				line.file = symbolizer_file_id(b, f->dir, f->file);
				line.line = f->line;
				line.column = f->column;
			}
			ok = add_symbol(b, elf, &addr[i], line);
		}
		r = ok ? 0 : -ENOMEM;
	}
	runtime_names_close(&names);
	free(da);
	return r;
}

/* Does a runtime's table have all that DWARF would have? */
static bool is_all_by_runtime(const struct symaddr *addr, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (addr[i].source != SYMBOLIZER_RUNTIME)
			return false;
	return true;
}

int symbolizer_resolve_elf(struct symbolizer_batch *b, struct symaddr *addr, size_t n)
{
	const struct symdebug_place where = {
		.host = b->o->host, .dirs = b->o->debug_dirs, .root_fd = b->d->root_fd,
		.fetched_fd = b->o->fetched_fd, .fetched_path = b->o->fetched_path,
		.deadline_ns = symbolizer_deadline(b->o->timeout_ns), .cache_dir = b->o->cache_dir,
	};
	struct symelf *elf = NULL;
	struct symdwarf *dwarf = NULL;
	char lack[1024] = "";
	int r = elfcache_get(b->o->kept, b->d, &where, &elf);
	if (r == -ENOMEM)
		return r;
	if (r) {
		r = symbolizer_resolve_each(b, addr, n, symbolizer_resolve_nameless);
		symbolizer_explain_lack(b, false, lack, sizeof(lack));
		symbolizer_explain(b, addr, n, NULL, lack);
		return r;
	}
	Elf *with_dwarf = b->o->no_inlines ? NULL : symelf_dwarf(elf);
	const char *from = b->d->path;
	if (with_dwarf && with_dwarf != elf->elf)
		from = elf->debug_path ? elf->debug_path : "its debug file";
	if (with_dwarf)
		r = symdwarf_open(with_dwarf,
				  with_dwarf == elf->elf ? elf->fd : elf->debug_fd, from, &where,
				  &dwarf);
	if (r != -ENOMEM)
		r = resolve_open_elf(b, elf, dwarf, addr, n);
	if (!dwarf && !b->o->no_inlines && !is_all_by_runtime(addr, n))
		symbolizer_explain_lack(b, true, lack, sizeof(lack));
	symbolizer_note_lack(b, elf, dwarf, lack, sizeof(lack));
	if (r == 0)
		symbolizer_explain(b, addr, n, dwarf ? from : NULL, *lack ? lack : NULL);
	symdwarf_close(dwarf);
	elfcache_put(b->o->kept, elf);
	return r;
}
