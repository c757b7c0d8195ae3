#ifndef CPROF_SYMBOLIZE_NAME_SYMBOLIZER_PRIVATE_H
#define CPROF_SYMBOLIZE_NAME_SYMBOLIZER_PRIVATE_H

/*
 * What the parts of the symbolizer share: one DSO's addresses at work, and how names and lines are
 * added for them.  Functions that give a bool are false when memory is out.
 */

#include "symbolize/name/symbolizer.h"
#include "symbolize/dwarf/symdwarf.h"

struct symelf;

#define SYMBOLIZER_FILE_MEMO 64     /* power of two */

struct symbolizer_batch {
	const struct symbolizer_options *o;
	const struct dso *d;
	struct symlines *lines;
	struct strtab *strings;
	struct symbolizer_has has;
	struct cfi *cfi;            /* where functions begin, for what has no name; may be NULL */
	bool cfi_tried;
	struct {
		uint64_t start, n_bytes;
	} found;                    /* the function that was last found there */
	uint32_t *demangled;        /* by linkage id: name id, 0 when not yet known */
	size_t n_demangled;
	struct {
		const char *dir, *file;
		uint32_t id;
	} memo[SYMBOLIZER_FILE_MEMO]; /* file names come again and again, as the same pointers */
};

/* ---- names and lines: symbolizer-names.c ---------------------------------- */

/* Where the function around vaddr begins, by its CFI, which stripped files have, too; false where
 * that is not known. */
bool symbolizer_find_start(struct symbolizer_batch *b, uint64_t vaddr, uint64_t *ret);

/* The id of "[libfoo.so]+0x1234", "[vdso]+0x10". */
uint32_t symbolizer_made_up_name(struct symbolizer_batch *b, uint64_t vaddr);

/* Sets both names from what stands in the object file; "foo@plt" for the stub that calls foo. */
bool symbolizer_set_names(struct symbolizer_batch *b, const char *linkage, struct symline *line);
bool symbolizer_set_plt_names(struct symbolizer_batch *b, const char *target,
			      struct symline *line);

/* The id of a path; 0 for none.  dir may be NULL; pointers are compared, not texts. */
uint32_t symbolizer_file_id(struct symbolizer_batch *b, const char *dir, const char *file);

/* Adds a line to a's, or the only one, with a made-up name. */
bool symbolizer_add_line(struct symbolizer_batch *b, struct symaddr *a,
			 const struct symline *line);
bool symbolizer_add_made_up(struct symbolizer_batch *b, struct symaddr *a, struct symline line);
bool symbolizer_resolve_nameless(struct symbolizer_batch *b, struct symaddr *a);

/* 0 or -ENOMEM. */
int symbolizer_resolve_each(struct symbolizer_batch *b, struct symaddr *addr, size_t n,
			    bool (*resolve)(struct symbolizer_batch *, struct symaddr *));

/* ---- by DWARF: symbolizer-dwarf.c ------------------------------------------ */

/* When the time for one DSO is over that starts now; 0: never. */
uint64_t symbolizer_deadline(uint64_t timeout_ns);

/* What DWARF knows of the addresses: one result each into *ret_addr, which the caller frees. */
int symbolizer_ask_dwarf(struct symdwarf *dwarf, const struct symaddr *addr, size_t n,
			 struct symdwarf_addr **ret_addr);

/* Adds all frames of da, which has a function; elf (may be NULL) has the symbols of the file. */
bool symbolizer_add_dwarf_chain(struct symbolizer_batch *b, struct symelf *elf,
				struct symaddr *a, const struct symdwarf_addr *da,
				const struct symdwarf_frame *frame);

/* ---- by kind of DSO --------------------------------------------------------- */

int symbolizer_resolve_elf(struct symbolizer_batch *b, struct symaddr *addr, size_t n);
bool symbolizer_resolve_pseudo(struct symbolizer_batch *b, struct symaddr *a);
bool symbolizer_resolve_memory(struct symbolizer_batch *b, struct symaddr *a);
bool symbolizer_resolve_kernel(struct symbolizer_batch *b, struct symaddr *a);
int symbolizer_resolve_kernel_debug(struct symbolizer_batch *b, struct symaddr *addr, size_t n);

/* ---- what was done, for -v: symbolizer-explain.c ---------------------------- */

/* Where names came from; dwarf_from and why_not may be NULL. */
void symbolizer_explain(const struct symbolizer_batch *b, const struct symaddr *addr, size_t n,
			const char *dwarf_from, const char *why_not);

/* What would give more names; is_open: the file is an ELF file. */
void symbolizer_explain_lack(const struct symbolizer_batch *b, bool is_open, char *buf,
			     size_t n_bytes);

/* Counts what went wrong, and says it behind what stands in buf; dwarf may be NULL. */
void symbolizer_note_lack(struct symbolizer_batch *b, const struct symelf *elf,
			  const struct symdwarf *dwarf, char *buf, size_t n_bytes);

#endif
