#ifndef CPROF_TESTS_UNIT_CFIBUILD_H
#define CPROF_TESTS_UNIT_CFIBUILD_H

/*
 * Writes .eh_frame and .debug_frame sections entry by entry, so that a test shows what
 * its bytes mean:
 *
 *	struct cfibuild b = { .vaddr = 0x5000, .is_eh = true };
 *	cfibuild_cie(&b, 1, "zR", 1, -8, 16);
 *	CFIBUILD(&b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
 *	cfibuild_end(&b);
 *	cfibuild_fde(&b, 0x1000, 0x100);
 *	...
 */

#include <dwarf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "symbolize/cfi/cfi.h"
#include "tests/unit/symbolize/cfibytes.h"

static inline void cfibuild_length(struct cfibuild *b)
{
	b->entry = b->n;
	if (b->is_64)
		cfibuild_le(b, 0xffffffff, 4);
	cfibuild_le(b, 0, b->is_64 ? 8 : 4);
}

static inline size_t cfibuild_id_bytes(const struct cfibuild *b)
{
	return b->is_64 && !b->is_eh ? 8 : 4;
}

static inline void cfibuild_cie(struct cfibuild *b, uint8_t version, const char *aug,
				uint64_t code_align, int64_t data_align, unsigned int ra)
{
	cfibuild_length(b);
	b->cie = b->entry;
	b->has_z = aug[0] == 'z';
	cfibuild_le(b, b->is_eh ? 0 : ~0ull, cfibuild_id_bytes(b));
	CFIBUILD(b, version);
	cfibuild_bytes(b, aug, strlen(aug) + 1);
	if (version == 4)
		CFIBUILD(b, 8, 0);
	cfibuild_uleb(b, code_align);
	cfibuild_sleb(b, data_align);
	cfibuild_uleb(b, ra);
	if (!b->has_z)
		return;
	uint8_t data[32];
	size_t n = 0;
	for (const char *p = aug + 1; *p; p++) {
		if (*p == 'R')
			data[n++] = b->enc ? b->enc : DW_EH_PE_pcrel | DW_EH_PE_sdata4;
		if (*p == 'L')
			data[n++] = DW_EH_PE_udata4;
		if (*p == 'P') {
			data[n++] = DW_EH_PE_udata4;
			memset(data + n, 0x5a, 4);
			n += 4;
		}
	}
	cfibuild_uleb(b, n);
	cfibuild_bytes(b, data, n);
}

/* An FDE of the last CIE; the program follows.  Returns its offset. */
static inline size_t cfibuild_fde(struct cfibuild *b, uint64_t start, uint64_t n_bytes)
{
	uint8_t enc = b->is_eh ? b->enc ? b->enc : DW_EH_PE_pcrel | DW_EH_PE_sdata4 : 0;
	cfibuild_length(b);
	cfibuild_le(b, b->is_eh ? b->n - b->cie : b->cie, cfibuild_id_bytes(b));
	cfibuild_pointer(b, start, enc);
	cfibuild_pointer(b, n_bytes, enc & 0x0f);
	if (b->has_z)
		CFIBUILD(b, 0);
	return b->entry;
}

/* Pads with nops and writes the length. */
static inline void cfibuild_end(struct cfibuild *b)
{
	while (b->n % 8)
		CFIBUILD(b, DW_CFA_nop);
	size_t head = b->is_64 ? 12 : 4;
	uint64_t len = b->n - b->entry - head;
	memcpy(b->v + b->entry + (b->is_64 ? 4 : 0), &len, b->is_64 ? 8 : 4);
}

/* The entry that ends .eh_frame. */
static inline void cfibuild_terminate(struct cfibuild *b)
{
	cfibuild_le(b, 0, 4);
}

static inline struct cfi_bytes cfibuild_section(const struct cfibuild *b)
{
	return (struct cfi_bytes){ b->v, b->n, b->vaddr };
}

/* What every x86-64 and arm64 function starts with. */
static inline void cfibuild_cie_x86(struct cfibuild *b, const char *aug)
{
	cfibuild_cie(b, 1, aug, 1, -8, 16);
	CFIBUILD(b, DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1);
	cfibuild_end(b);
}

static inline void cfibuild_cie_arm(struct cfibuild *b, const char *aug)
{
	cfibuild_cie(b, 1, aug, 4, -8, 30);
	CFIBUILD(b, DW_CFA_def_cfa, 31, 0);
	cfibuild_end(b);
}

/* A header with a table of n entries {function, FDE's offset in b}. */
static inline void cfibuild_hdr(struct cfibuild *h, const struct cfibuild *b, uint8_t table_enc,
				const uint64_t (*entry)[2], size_t n)
{
	CFIBUILD(h, 1, DW_EH_PE_pcrel | DW_EH_PE_sdata4, DW_EH_PE_udata4, table_enc);
	cfibuild_pointer(h, b->vaddr, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	cfibuild_le(h, n, 4);
	for (size_t i = 0; i < n; i++) {
		for (int j = 0; j < 2; j++) {
			uint64_t x = j ? b->vaddr + entry[i][1] : entry[i][0];
			if ((table_enc & 0x70) == DW_EH_PE_datarel)
				x -= h->vaddr;
			cfibuild_pointer(h, x, table_enc);
		}
	}
}

#endif
