/*
 * Each kind of DSO has a file of its own, which defines where its names come from and which source
 * wins: symbolizer-elf.c, symbolizer-kernel.c, symbolizer-memory.c.
 */

#include "symbolize/name/symbolizer-private.h"

#include "base/foreign.h"
#include "symbolize/cfi/cfi.h"
#include "symbolize/elf/dso.h"

#include <errno.h>
#include <stdlib.h>

static int compare_addr(const void *a, const void *b)
{
	const struct symaddr *x = a, *y = b;
	return x->vaddr < y->vaddr ? -1 : x->vaddr > y->vaddr;
}

static int resolve_by_kind(struct symbolizer_batch *b, struct symaddr *addr, size_t n)
{
	int r;
	switch (b->d->key.kind) {
	case DSO_RUNTIME:
		return 0;
	case DSO_PSEUDO:
		return symbolizer_resolve_each(b, addr, n, symbolizer_resolve_pseudo);
	case DSO_KERNEL:
	case DSO_MODULE:
		r = b->o->kernel_debug ? symbolizer_resolve_kernel_debug(b, addr, n)
				       : symbolizer_resolve_each(b, addr, n,
							 symbolizer_resolve_kernel);
		symbolizer_explain(b, addr, n, NULL,
				   b->o->kernel ? NULL : "no symbols of that kernel");
		return r;
	case DSO_ANON:
		return symbolizer_resolve_each(b, addr, n, symbolizer_resolve_memory);
	case DSO_ELF:
		if (b->o->only_addresses) {
			/* Its CFI is missing, too. */
			if (b->o->counts && (foreign_lacks_descriptor(-b->d->open_errno) ||
					     dsokeep_is_lost(b->d)))
				b->o->counts->n_no_descriptor++;
			return 0;
		}
		break;
	case DSO_VDSO:
		break;
	}
	return symbolizer_resolve_elf(b, addr, n);
}

int symbolizer_resolve(const struct symbolizer_options *o, const struct dso *d,
		       struct symaddr *addr, size_t n, struct symlines *lines,
		       struct strtab *strings, struct symbolizer_has *ret_has)
{
	struct symbolizer_batch b = { .o = o, .d = d, .lines = lines, .strings = strings };
	if (n == 0) {
		*ret_has = b.has;
		return 0;
	}
	for (size_t i = 0; i < n; i++) {
		addr[i].first_line = addr[i].n_lines = 0;
		addr[i].same_start = addr[i].same_end = 0;
		addr[i].source = SYMBOLIZER_NONE;
	}
	qsort(addr, n, sizeof(*addr), compare_addr);
	int r = resolve_by_kind(&b, addr, n);
	cfi_close(b.cfi);
	for (size_t i = 0; i < n; i++)
		b.has.functions |= addr[i].source != SYMBOLIZER_NONE &&
				   addr[i].source != SYMBOLIZER_PSEUDO;
	VEC_FREE(&b.demangled);
	if (r < 0)
		return r;
	*ret_has = b.has;
	return 0;
}
