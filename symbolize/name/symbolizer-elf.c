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

#include "base/cleanup.h"
#include "base/foreign.h"
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

/* Addresses with the same symbol, or without one; and in the same function by the CFI, if that
 * counts. */
static void find_same(struct symbolizer_batch *b, struct symelf *elf, bool by_cfi,
		      struct symaddr *a)
{
	uint64_t start, end, function;
	if (!symelf_same(elf, a->vaddr, &start, &end))
		return;
	if (by_cfi) {
		if (!symbolizer_find_start(b, a->vaddr, &function))
			return;
		start = function > start ? function : start;
		end = end - function < b->found.n_bytes ? end : function + b->found.n_bytes;
	}
	a->same_start = start;
	a->same_end = end;
}

/* only_symbols: there is no source but the tables of symbols. */
static bool add_symbol(struct symbolizer_batch *b, struct symelf *elf, bool only_symbols,
		       struct symaddr *a, struct symline line)
{
	const char *name;
	const struct symtab_symbol *symbol = symelf_find(elf, a->vaddr, &name);
	bool is_named = symbol && is_its_name(b, symbol, a->vaddr), ok;
	const char *target = is_named ? NULL : symelf_find_plt(elf, a->vaddr);
	if (is_named) {
		a->source = symbol->is_dynamic ? SYMBOLIZER_DYNSYM : SYMBOLIZER_SYMTAB;
		ok = symbolizer_set_names(b, name, &line) && symbolizer_add_line(b, a, &line);
	} else if (target) {
		a->source = SYMBOLIZER_PLT;
		ok = symbolizer_set_plt_names(b, target, &line) &&
		     symbolizer_add_line(b, a, &line);
	} else {
		ok = symbolizer_add_made_up(b, a, line);
	}
	if (only_symbols && !target)
		find_same(b, elf, !is_named || !symbol->sized, a);
	return ok;
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

/* The sources of one file. */
struct sources {
	struct symelf *elf;
	struct symdwarf *dwarf;       /* NULL: none */
	struct runtime_names runtime; /* opened for the first address without a function in DWARF */
	bool is_runtime_tried, has_runtime;
};

static void sources_done(struct sources *s)
{
	runtime_names_close(&s->runtime);
}

/* da: the answer of DWARF, or NULL. */
static bool resolve_address(struct symbolizer_batch *b, struct sources *s,
			    const struct symdwarf_addr *da, struct symaddr *a)
{
	struct symline line = {0};
	bool done = false;
	if (da && da->has_function)
		return symbolizer_add_dwarf_chain(b, s->elf, a, da, symdwarf_frames(s->dwarf));
	if (!s->is_runtime_tried) {
		s->is_runtime_tried = true;
		s->has_runtime = runtime_names_open(s->elf->elf, &s->runtime) != 0;
	}
	if (!add_runtime_chain(b, &s->runtime, a, &done))
		return false;
	if (done)
		return true;
	if (da && da->n)
		line = symbolizer_position(b, &symdwarf_frames(s->dwarf)[da->first]);
	return add_symbol(b, s->elf, !s->dwarf && !s->has_runtime, a, line);
}

static int resolve_open_elf(struct symbolizer_batch *b, struct symelf *elf, struct symdwarf *dwarf,
			    struct symaddr *addr, size_t n)
{
	CLEANUP_FREE struct symdwarf_addr *da = NULL;
	CLEANUP(sources_done) struct sources s = { .elf = elf, .dwarf = dwarf };
	if (dwarf) {
		int r = symbolizer_ask_dwarf(dwarf, addr, n, &da);
		if (r < 0)
			return r;
	}
	for (size_t i = 0; i < n; i++)
		if (!resolve_address(b, &s, da ? &da[i] : NULL, &addr[i]))
			return -ENOMEM;
	return 0;
}

/* Does a runtime's table have everything that DWARF would provide? */
static bool is_all_by_runtime(const struct symaddr *addr, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (addr[i].source != SYMBOLIZER_RUNTIME)
			return false;
	return true;
}

CLEANUP_DEFINE(struct symdwarf, symdwarf_close)

static int resolve_elf(struct symbolizer_batch *b, struct symelf *elf,
		       const struct symdebug_place *where, struct symaddr *addr, size_t n)
{
	CLEANUP(symdwarf_closep) struct symdwarf *dwarf = NULL;
	char lack[1024] = "";
	Elf *with_dwarf = b->o->no_inlines ? NULL : symelf_dwarf(elf);
	const char *from = b->d->path;
	if (with_dwarf && with_dwarf != elf->elf)
		from = elf->debug_path ? elf->debug_path : "its debug file";
	if (with_dwarf && symdwarf_open(with_dwarf,
					with_dwarf == elf->elf ? elf->fd : elf->debug_fd, from,
					where, &dwarf) == -ENOMEM)
		return -ENOMEM;
	int r = resolve_open_elf(b, elf, dwarf, addr, n);
	if (r < 0)
		return r;
	if (!dwarf && !b->o->no_inlines && !is_all_by_runtime(addr, n))
		symbolizer_explain_lack(b, true, lack, sizeof(lack));
	symbolizer_note_lack(b, elf, dwarf, lack, sizeof(lack));
	symbolizer_note_unread(b, where->unread, lack, sizeof(lack));
	symbolizer_explain(b, addr, n, dwarf ? from : NULL, *lack ? lack : NULL);
	return 0;
}

int symbolizer_resolve_elf(struct symbolizer_batch *b, struct symaddr *addr, size_t n)
{
	struct symdebug_unread unread = {
		.n_lost = (unsigned)foreign_is_lost(-b->d->open_errno),
		.n_no_descriptor = (unsigned)foreign_lacks_descriptor(-b->d->open_errno),
	};
	const struct symdebug_place where = {
		.unread = &unread,
		.host = b->o->host, .dirs = b->o->debug_dirs, .root_fd = b->d->root_fd,
		.fetched_fd = b->o->fetched_fd, .fetched_path = b->o->fetched_path,
		.deadline_ns = symbolizer_deadline(b->o->timeout_ns), .cache_dir = b->o->cache_dir,
		.keep = b->d->kept ? b->d->kept->keep : NULL,
	};
	struct symelf *elf = NULL;
	char lack[1024] = "";
	int r = elfcache_get(b->o->kept, b->d, &where, &elf);
	if (r == -ENOMEM)
		return r;
	unread.n_no_descriptor += (unsigned)foreign_lacks_descriptor(r);
	if (r) {
		r = symbolizer_resolve_each(b, addr, n, symbolizer_resolve_nameless);
		symbolizer_explain_lack(b, false, lack, sizeof(lack));
		symbolizer_note_unread(b, &unread, lack, sizeof(lack));
		symbolizer_explain(b, addr, n, NULL, lack);
		return r;
	}
	r = resolve_elf(b, elf, &where, addr, n);
	elfcache_put(b->o->kept, elf);
	return r;
}
