#ifndef CPROF_SYMBOLIZE_CFI_CFI_H
#define CPROF_SYMBOLIZE_CFI_CFI_H

/*
 * The call frame information of one module (an ELF file, the vDSO, or sections in memory):
 * from an address to the rule by which its frame is left.  Nothing is read before it is asked
 * for: a search of .eh_frame_hdr's sorted table, or of an index that is built at
 * the first need where there is none, then .debug_frame.  Used by one thread at a time.
 * Addresses are ELF virtual addresses; a caller's frame is looked up by its return address
 * minus one, since a call may be a function's last instruction.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/arch/cfi-rule.h"
#include "symbolize/cfi/cfi-run.h"
#include "symbolize/cfi/cfi-section.h"
#include "symbolize/cfi/cfi-table.h"

struct dso;
struct symdebug_place;

struct cfi_index_entry {
	uint64_t start;                 /* vaddr */
	uint32_t n_bytes, entry_off;
};

struct cfi_index {                      /* sorted by start; made when first needed */
	bool is_made;
	struct cfi_index_entry *v;
	size_t n;
};

/* The rule of the row that was made last for an FDE: most places of a function have the same. */
struct cfi_last_rule {
	uint32_t entry_off;             /* of the FDE in .eh_frame */
	uint32_t n_bytes;               /* of code, from start on; 0: no rule is here */
	uint64_t start;                 /* vaddr */
	struct cfi_rule rule;
};

struct cfi_load {                       /* a PT_LOAD program header */
	uint64_t vaddr, file_off, n_file_bytes;
};
#define CFI_LOADS_MAX 16

struct cfi {
	const struct arch *arch;
	int fd;                         /* borrowed; -1: no file */
	const uint8_t *image;           /* borrowed, of cfi_open_image */
	size_t n_image_bytes;
	uint16_t n_loads;
	struct cfi_load load[CFI_LOADS_MAX];
	struct cfi_section hdr, eh, debug;
	struct cfi_frames eh_frames, debug_frames;
	uint64_t table_off;             /* of the sorted table in hdr */
	uint64_t n_table;               /* its entries; 0: no table that can be searched */
	uint8_t table_enc;
	struct cfi_table table;         /* the same, where it is of the usual kind */
	struct cfi_kept_cie kept[CFI_KEPT_MAX]; /* of .eh_frame */
	struct cfi_kept_row kept_row[CFI_KEPT_MAX];
	struct cfi_last_rule *last;     /* by entry_off; NULL: there is none yet */
	uint32_t n_last;                /* a power of two */
	struct cfi_index eh_index, debug_index;
	bool is_debug_sought;           /* the file was asked for .debug_frame */
	const struct dso *dso;          /* of cfi_set_debug; NULL */
	const struct symdebug_place *debug_place;
	uint64_t n_searches, n_bad;     /* of cfi_rule_at: all; entries found malformed */
	uint64_t n_bytes_run;           /* and of programs, for who counts work */
};

/* Opens the CFI of an ELF file.  fd is borrowed and stays open until cfi_close.  A few small
 * reads.  A file without any is no failure: every address is CFI_NONE then.
 * -ENOEXEC: no ELF file of a machine that can be unwound (64-bit x86 and arm64); -EIO; -ENOMEM. */
int cfi_open_file(int fd, struct cfi **ret);

/* As cfi_open_file for a file's image in memory (the vDSO), borrowed until cfi_close. */
int cfi_open_image(const void *image, size_t n_bytes, struct cfi **ret);

/* Sections as bytes in memory with their addresses, borrowed until cfi_close. */
struct cfi_bytes {
	const void *p;
	size_t n_bytes;                 /* 0: there is none */
	uint64_t vaddr;
};
int cfi_open_sections(const struct arch *arch, struct cfi_bytes hdr, struct cfi_bytes eh_frame,
		      struct cfi_bytes debug_frame, struct cfi **ret);

/* Takes .debug_frame from the separate debug file fd (needed during the call only) where the
 * module has none itself.  -ENOENT: that file has none; others as cfi_open_file. */
int cfi_add_debug_file(struct cfi *c, int fd);

/* Where d's separate debug file is looked for when an address is in no CFI of d's own file.  Both
 * are borrowed until cfi_close. */
void cfi_set_debug(struct cfi *c, const struct dso *d, const struct symdebug_place *where);

/* Looks for .debug_frame in its own file, then in its debug file, once; when first needed. */
void cfi_seek_debug(struct cfi *c);
void cfi_seek_debug_file(struct cfi *c);
void cfi_close(struct cfi *c);

/* Heap and file bytes that it holds now. */
size_t cfi_bytes_held(const struct cfi *c);

/* The rule at vaddr.  *ret is always set, its kind is never CFI_EMPTY. */
void cfi_rule_at(struct cfi *c, uint64_t vaddr, struct cfi_rule *ret);

/* Result of a search. */
enum cfi_found {
	CFI_FOUND,
	CFI_NOT_FOUND,  /* the module says nothing about the address */
	CFI_MALFORMED,  /* what it says cannot be read */
};

/* The FDE that covers vaddr.  *ret_off is its offset in .eh_frame, or in .debug_frame when
 * *ret_is_debug. */
enum cfi_found cfi_find_fde(struct cfi *c, uint64_t vaddr, struct cfi_fde *ret,
			    uint32_t *ret_off, bool *ret_is_debug);

/* All rules at vaddr. */
enum cfi_found cfi_row_at(struct cfi *c, uint64_t vaddr, struct cfi_row *ret);

/* The same without a search, for an address whose rule is known to be CFI_UNUSUAL. */
enum cfi_found cfi_row_again(struct cfi *c, const struct cfi_rule *rule, uint64_t vaddr,
			     struct cfi_row *ret);

/* A section by its name, from the section headers.  False when there is none. */
struct cfi_place {
	uint64_t vaddr, off, n_bytes;   /* off: in the file */
	uint32_t type;                  /* SHT_* */
};
bool cfi_find_section(const struct cfi *c, const char *name, struct cfi_place *ret);

/* Copies up to n bytes of the module's code (or other loaded bytes) at vaddr; returns how many
 * the file holds from there.  Reads the file: not for every sample. */
size_t cfi_read_code(const struct cfi *c, uint64_t vaddr, void *buf, size_t n_bytes);

#endif
