#ifndef CPROF_SYMBOLIZE_CFI_CFI_H
#define CPROF_SYMBOLIZE_CFI_CFI_H

/*
 * The call frame information of one module (an ELF file, the vDSO, or sections in memory): maps an
 * address to the rule that unwinds its frame.  Everything is read on demand: the sorted table of
 * .eh_frame_hdr, or an index that is built on first use where the table is missing, then
 * .debug_frame.  Used by one thread at a time.  Addresses are ELF virtual addresses.  A caller's
 * frame is looked up by its return address minus one, since a call may be a function's last
 * instruction.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
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

struct cfi_index {                      /* sorted by start; built on first use */
	bool is_built;
	VEC(struct cfi_index_entry) entry;
};

/* The rule of the last row computed for an FDE: it holds for most of the function. */
struct cfi_last_rule {
	uint32_t entry_off;             /* of the FDE in .eh_frame */
	uint32_t n_bytes;               /* of code, from start on; 0: unused */
	uint64_t start;                 /* vaddr */
	struct cfi_rule rule;
};

struct cfi_load {                       /* a PT_LOAD program header */
	uint64_t vaddr, file_off, n_file_bytes;
};
#define CFI_LOADS_MAX 16

struct cfi {
	const struct arch *arch;
	int fd;                         /* borrowed; -1: that of kept, or no file */
	const struct dso *kept;         /* of cfi_open_dso; NULL */
	const uint8_t *image;           /* borrowed, of cfi_open_image */
	size_t n_image_bytes;
	uint16_t n_loads;
	struct cfi_load load[CFI_LOADS_MAX];
	struct cfi_section hdr, eh, debug;
	struct cfi_frames eh_frames, debug_frames;
	uint64_t table_off;             /* of the sorted table in hdr */
	uint64_t n_table;               /* its entries; 0: no usable table */
	uint8_t table_enc;
	struct cfi_table table;         /* the same, if it has the usual encoding */
	struct cfi_cached_cie cached[CFI_CACHED_MAX]; /* of .eh_frame */
	struct cfi_cached_row cached_row[CFI_CACHED_MAX];
	struct cfi_last_rule *last;     /* by entry_off; NULL: no rule yet */
	uint32_t n_last;                /* a power of two */
	struct cfi_index eh_index, debug_index;
	bool is_debug_searched;         /* for .debug_frame */
	const struct dso *dso;          /* of cfi_set_debug; NULL */
	const struct symdebug_place *debug_place;
	uint64_t n_searches, n_bad;     /* by cfi_rule_at: all; those that found malformed CFI */
	uint64_t n_bytes_run;           /* of programs, for callers that limit the work */
};

/* Opens the CFI of an ELF file, with a few small reads. fd is borrowed until cfi_close.  A file
 * without CFI is not an error: every address is CFI_NONE then. -ENOEXEC: not an ELF file, or one of
 * an unsupported architecture; -EIO; -ENOMEM. */
int cfi_open_file(int fd, struct cfi **ret);

/* The same for d's file, which is opened again when it was closed (dsokeep.h).  d is borrowed. */
int cfi_open_dso(const struct dso *d, struct cfi **ret);

/* The same for a file image in memory (the vDSO), which is borrowed until cfi_close. */
int cfi_open_image(const void *image, size_t n_bytes, struct cfi **ret);

/* Sections as bytes in memory with their addresses, borrowed until cfi_close. */
struct cfi_bytes {
	const void *p;
	size_t n_bytes;                 /* 0: no such section */
	uint64_t vaddr;
};
int cfi_open_sections(const struct arch *arch, struct cfi_bytes hdr, struct cfi_bytes eh_frame,
		      struct cfi_bytes debug_frame, struct cfi **ret);

/* Reads .debug_frame from the separate debug file fd, unless the module has one itself.  fd is not
 * used after the call.  -ENOENT: the file has none; others as cfi_open_file. */
int cfi_add_debug_file(struct cfi *c, int fd);

/* Where to search for d's separate debug file when the CFI of d itself does not cover an address.
 * Both are borrowed until cfi_close. */
void cfi_set_debug(struct cfi *c, const struct dso *d, const struct symdebug_place *where);

/* Searches for .debug_frame, once: in the module, then in its debug file. */
void cfi_seek_debug(struct cfi *c);
void cfi_seek_debug_file(struct cfi *c, int fd);
void cfi_close(struct cfi *c);

/* Memory in use, with the file bytes that were read. */
size_t cfi_bytes_held(const struct cfi *c);

/* The rule at vaddr.  *ret is always set; its kind is never CFI_EMPTY. */
void cfi_rule_at(struct cfi *c, uint64_t vaddr, struct cfi_rule *ret);

/* Result of a search. */
enum cfi_found {
	CFI_FOUND,
	CFI_NOT_FOUND,  /* the module has no CFI for the address */
	CFI_MALFORMED,
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

/* A section by its name, from the section headers.  False: not found. */
struct cfi_place {
	uint64_t vaddr, off, n_bytes;   /* off: in the file */
	uint32_t type;                  /* SHT_* */
};
bool cfi_find_section(const struct cfi *c, const char *name, struct cfi_place *ret);

/* The bytes of a section of the file, until cfi_section_done; c must stay open.  Errors as of
 * cfi_section_file; -ENOENT: c is not of a file. */
int cfi_open_place(const struct cfi *c, const struct cfi_place *place, struct cfi_section *ret);

/* Copies up to n_bytes of code or other loaded bytes at vaddr, and returns how many the file holds
 * there.  Reads the file: too slow for every sample. */
size_t cfi_read_code(const struct cfi *c, uint64_t vaddr, void *buf, size_t n_bytes);

#endif
