/*
 * .eh_frame follows the code at the next multiple of 8, and .eh_frame_hdr follows .eh_frame.  So
 * pointers are meant to be relative, and base is 0.  Some compilers write absolute ones.
 */

#include "proc/jitcfi.h"

#include "symbolize/cfi/cfi.h"
#include "symbolize/jit/jitcode.h"

struct cfi *jitcfi_open(const struct arch *arch, const struct jitcode_entry *e, uint64_t base)
{
	const struct jitcode_unwind *u = &e->unwind;
	struct cfi_bytes eh = { u->bytes, u->n_bytes - u->n_hdr_bytes,
				base + ((e->n_bytes + 7) & ~(uint64_t)7) };
	struct cfi_bytes hdr = { u->bytes + eh.n_bytes, u->n_hdr_bytes, eh.vaddr + eh.n_bytes };
	struct cfi *c = NULL;
	if (eh.n_bytes == 0 || cfi_open_sections(arch, hdr, eh, (struct cfi_bytes){ 0 }, &c) < 0)
		return NULL;
	struct cfi_fde fde;
	uint32_t off;
	bool is_debug;
	if (cfi_find_fde(c, base, &fde, &off, &is_debug) == CFI_FOUND)
		return c;
	cfi_close(c);
	return NULL;
}
