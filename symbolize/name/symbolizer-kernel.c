/*
 * The kernel's own names (kallsyms), and, if requested, inlined calls, files and lines from the
 * debug information of vmlinux and of each module.
 */

#include "symbolize/name/symbolizer-private.h"

#include "base/cleanup.h"
#include "base/log.h"
#include "base/strtab.h"
#include "symbolize/elf/dso.h"
#include "symbolize/jit/jitcode.h"
#include "symbolize/elf/symdebug.h"
#include "symbolize/kernel/symkdebug.h"
#include "symbolize/kernel/symkernel.h"
#include "symbolize/elf/symtab.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Gives it the kernel's own name, with the source line if known. */
static bool add_kernel_symbol(struct symbolizer_batch *b, struct symaddr *a, struct symline line)
{
	const char *name, *module;
	uint64_t start;
	/* Code that was loaded or removed during the recording: BPF programs, trampolines. */
	const struct jitcode_entry *e =
		b->o->kernel_code ? jitcode_find(b->o->kernel_code, a->vaddr, UINT64_MAX) : NULL;
	if (e) {
		line.name = line.linkage = strtab_add_cstr(b->strings, e->name);
		a->source = SYMBOLIZER_KALLSYMS;
		return symbolizer_add_line(b, a, &line);
	}
	if (!b->o->kernel || !symkernel_find(b->o->kernel, a->vaddr, &name, &module, &start))
		return symbolizer_add_made_up(b, a, line);
	line.name = line.linkage = strtab_add_cstr(b->strings, name);
	a->source = SYMBOLIZER_KALLSYMS;
	return symbolizer_add_line(b, a, &line);
}

bool symbolizer_resolve_kernel(struct symbolizer_batch *b, struct symaddr *a)
{
	return add_kernel_symbol(b, a, (struct symline){0});
}

/* The part of the kernel that contains address: a module's name, "" for the kernel proper, NULL for
 * code that is in no file (BPF programs, trampolines). */
static const char *kernel_part(const struct symbolizer_batch *b, uint64_t address)
{
	const char *name, *module = "";
	uint64_t start;
	if (b->o->kernel_code && jitcode_find(b->o->kernel_code, address, UINT64_MAX))
		return NULL;
	if (b->o->kernel && !symkernel_find(b->o->kernel, address, &name, &module, &start))
		return NULL;
	return strcmp(module, "bpf") == 0 || strncmp(module, "__builtin__", 11) == 0 ? NULL
										      : module;
}

/* Code that is not in a function of the debug information (assembler): it gets the kernel's own
 * name, or, if another kernel ran, vmlinux's. */
static bool add_kernel_or_vmlinux_symbol(struct symbolizer_batch *b, struct symtab *vmlinux,
					 uint64_t shift, struct symaddr *a, struct symline line)
{
	const char *name;
	if (b->o->kernel || !symtab_find(vmlinux, a->vaddr - shift, &name))
		return add_kernel_symbol(b, a, line);
	a->source = SYMBOLIZER_SYMTAB;
	return symbolizer_set_names(b, name, &line) && symbolizer_add_line(b, a, &line);
}

/* All n addresses are in the part that debug describes. */
static int resolve_by_kernel_debug(struct symbolizer_batch *b, const struct symkdebug *debug,
				   struct symdwarf *dwarf, struct symaddr *addr, size_t n)
{
	CLEANUP_FREE struct symdwarf_addr *da = NULL;
	CLEANUP(symtab_done) struct symtab vmlinux = {0};
	if (!b->o->kernel && symtab_add_code(&vmlinux, debug->elf) &&
	    symtab_add(&vmlinux, debug->elf, debug->fd, SHT_SYMTAB) > 0)
		symtab_finish(&vmlinux);
	for (size_t i = 0; i < n; i++)
		addr[i].vaddr -= debug->shift;
	int r = symbolizer_ask_dwarf(dwarf, addr, n, &da);
	const struct symdwarf_frame *frame = symdwarf_frames(dwarf);
	for (size_t i = 0; i < n; i++)
		addr[i].vaddr += debug->shift;
	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++) {
		struct symline line = {0};
		if (!da[i].has_function && da[i].n)
			line = symbolizer_position(b, &frame[da[i].first]);
		if (!(da[i].has_function
		      ? symbolizer_add_dwarf_chain(b, NULL, &addr[i], &da[i], frame)
		      : add_kernel_or_vmlinux_symbol(b, &vmlinux, debug->shift, &addr[i], line)))
			return -ENOMEM;
	}
	return 0;
}

CLEANUP_DEFINE(struct symdwarf, symdwarf_close)

static int resolve_kernel_part(struct symbolizer_batch *b, const char *module,
			       struct symaddr *addr, size_t n)
{
	const struct symdebug_place where = {
		.host = b->o->host, .dirs = b->o->debug_dirs,
		.deadline_ns = symbolizer_deadline(b->o->timeout_ns), .cache_dir = b->o->cache_dir,
	};
	CLEANUP(symkdebug_close) struct symkdebug debug = { .fd = -1 };
	CLEANUP(symdwarf_closep) struct symdwarf *dwarf = NULL;
	char why[1024];
	int r = symkdebug_open(b->o->kernel_debug, &where, module, &debug, why, sizeof(why));
	if (r == -ENOENT) {
		log_line(b->o->log, *module ? LOG_EXPLAIN : LOG_WARN,
			 "kernel functions of '%s' have no lines: %s",
			 *module ? module : b->d->path, why);
		if (b->o->counts)
			b->o->counts->n_timeouts += symdebug_is_late(&where);
		return symbolizer_resolve_each(b, addr, n, symbolizer_resolve_kernel);
	}
	if (r < 0)
		return r;
	r = symdwarf_open(debug.elf, debug.fd, debug.path, &where, &dwarf);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return symbolizer_resolve_each(b, addr, n, symbolizer_resolve_kernel);
	r = resolve_by_kernel_debug(b, &debug, dwarf, addr, n);
	log_line(b->o->log, LOG_EXPLAIN, "debug information of '%s' from %s%s",
		 *module ? module : b->d->path, debug.path,
		 symdwarf_was_late(dwarf) ? ", which took too long to read (--symbol-timeout)"
					  : "");
	if (b->o->counts)
		b->o->counts->n_timeouts += symdwarf_was_late(dwarf);
	return r;
}

int symbolizer_resolve_kernel_debug(struct symbolizer_batch *b, struct symaddr *addr, size_t n)
{
	for (size_t i = 0, end; i < n; i = end) {
		const char *part = kernel_part(b, addr[i].vaddr);
		for (end = i + 1; end < n; end++) {
			const char *other = kernel_part(b, addr[end].vaddr);
			if (!part != !other || (part && strcmp(part, other) != 0))
				break;
		}
		int r = part ? resolve_kernel_part(b, part, addr + i, end - i)
			     : symbolizer_resolve_each(b, addr + i, end - i,
						       symbolizer_resolve_kernel);
		if (r < 0)
			return r;
	}
	return 0;
}
