#ifndef CPROF_SYMBOLIZE_CFI_CFI_TABLE_H
#define CPROF_SYMBOLIZE_CFI_CFI_TABLE_H

/*
 * The sorted table of .eh_frame_hdr (LSB 5.0 core, section 10.6.2) in the form that linkers write:
 * pairs of 32-bit numbers relative to the header, a function's start and the address of its FDE.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cfi_section;

struct cfi_table {
	struct cfi_section *hdr;        /* borrowed */
	uint64_t off, n;                /* offset in hdr; entries, all of them inside hdr */
	int32_t *cached;                /* private: starts of some entries; NULL: no search yet */
	unsigned int n_levels;          /* private */
};

/* Does not read yet. */
void cfi_table_init(struct cfi_table *t, struct cfi_section *hdr, uint64_t off, uint64_t n);
void cfi_table_done(struct cfi_table *t);

/* The vaddr of the FDE of the last function that starts at or below vaddr.  False: no such
 * function, the file has shrunk, or out of memory. */
bool cfi_table_search(struct cfi_table *t, uint64_t vaddr, uint64_t *ret_fde);

size_t cfi_table_bytes_held(const struct cfi_table *t);

#endif
