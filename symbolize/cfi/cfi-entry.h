#ifndef CPROF_SYMBOLIZE_CFI_CFI_ENTRY_H
#define CPROF_SYMBOLIZE_CFI_CFI_ENTRY_H

/*
 * Entries of .eh_frame and .debug_frame (DWARF 5 section 6.4; LSB "Exception Frames"; AArch64
 * DWARF ABI): decodes one FDE with its CIE.  All lengths, numbers and pointers are treated as
 * hostile.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arch;
struct cfi_section;
struct cfi_cached_cie;
struct cfi_cached_row;

/* A section with CFI, and the bases of its pointers. */
struct cfi_frames {
	struct cfi_section *section;
	const struct arch *arch;
	bool is_eh;             /* .eh_frame, not .debug_frame */
	uint64_t text_vaddr;    /* base of DW_EH_PE_textrel */
	uint64_t data_vaddr;    /* base of DW_EH_PE_datarel */
	/* Decoded CIEs: CFI_CACHED_MAX of each, all zero at first.  NULL: no cache. */
	struct cfi_cached_cie *cached;
	struct cfi_cached_row *cached_row;
};

struct cfi_cie {
	uint64_t code_align;
	int64_t data_align;
	unsigned int ra_reg;    /* column of the return address */
	uint8_t fde_enc;        /* DW_EH_PE_* of an FDE's addresses */
	uint8_t addr_bytes;     /* of DW_EH_PE_absptr */
	bool has_aug_data;      /* FDEs carry a length of augmentation data */
	bool is_signal;         /* 'S': the kernel made the frame; its pc is exact */
	const uint8_t *program, *program_end;
	uint64_t off;           /* in the section */
	struct cfi_cached_row *row;     /* for cfi-run.c; NULL: no cache */
};

/* Decoded CIEs that are cached: files have one to three. */
#define CFI_CACHED_MAX 4u
struct cfi_cached_cie {
	bool is_valid;
	struct cfi_cie cie;
};

struct cfi_fde {
	uint64_t start, n_bytes;/* the code that it describes, vaddr */
	const uint8_t *program, *program_end;
	uint64_t program_vaddr; /* of program, for DW_CFA_set_loc */
	struct cfi_cie cie;
};

/* The kind of entry at an offset of the section. */
enum cfi_entry { CFI_ENTRY_FDE, CFI_ENTRY_CIE, CFI_ENTRY_END, CFI_ENTRY_BAD };

/* Decodes the FDE at off, and borrows the section's bytes.  *ret is valid after FDE only,
 * *ret_next (may be NULL), the offset of the next entry, after FDE and CIE. */
enum cfi_entry cfi_entry_parse(const struct cfi_frames *f, uint64_t off, struct cfi_fde *ret,
			     uint64_t *ret_next);

/* Reads a pointer of encoding enc at *p, and moves *p past it.  vaddr is that of *p. */
bool cfi_entry_pointer(const struct cfi_frames *f, uint8_t enc, uint8_t addr_bytes, uint64_t vaddr,
		     const uint8_t **p, const uint8_t *end, uint64_t *ret);

/* The size of a pointer of that encoding; 0: variable or unknown. */
size_t cfi_entry_pointer_bytes(uint8_t enc, uint8_t addr_bytes);

/* An unsigned little-endian number of 1, 2, 4 or 8 bytes at *p; moves *p past it. */
bool cfi_entry_fixed(const uint8_t **p, const uint8_t *end, size_t n_bytes, uint64_t *ret);

/* LEB128 at *p; moves *p past it.  False: beyond end.  Bits above 64 are dropped. */
bool cfi_entry_long_uleb(const uint8_t **p, const uint8_t *end, uint64_t *ret);
bool cfi_entry_sleb(const uint8_t **p, const uint8_t *end, int64_t *ret);
static inline bool cfi_entry_uleb(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	if (*p == end || **p & 0x80)
		return cfi_entry_long_uleb(p, end, ret);
	*ret = *(*p)++;
	return true;
}

#endif
