#ifndef CPROF_SYMBOLIZE_NAME_SYMBOLIZER_PRIVATE_H
#define CPROF_SYMBOLIZE_NAME_SYMBOLIZER_PRIVATE_H

/*
 * Shared by the parts of the symbolizer: the addresses of one DSO that are being resolved, and how
 * to add names and lines for them.  Functions that return a bool return false if out of memory.
 */

#include "base/vec.h"
#include "symbolize/name/symbolizer.h"
#include "symbolize/dwarf/symdwarf.h"

struct symdebug_unread;
struct symelf;

#define SYMBOLIZER_FILE_MEMO 64     /* power of two */

struct symbolizer_batch {
	const struct symbolizer_options *o;
	const struct dso *d;
	struct symlines *lines;
	struct strtab *strings;
	struct symbolizer_has has;
	struct cfi *cfi;            /* starts of functions, for code without names; may be NULL */
	bool cfi_tried;
	struct {
		uint64_t start, n_bytes;
	} found;                    /* the last function that was found there */
	VEC(uint32_t) demangled;    /* by linkage id: name id, 0: not yet known */
	struct {
		const char *dir, *file;
		uint32_t id;
	} memo[SYMBOLIZER_FILE_MEMO]; /* file names repeat, as the same pointers */
};

/* ---- names and lines: symbolizer-names.c ---------------------------------- */

/* The start of the function around vaddr by its CFI, which stripped files have, too.  False if
 * unknown. */
bool symbolizer_find_start(struct symbolizer_batch *b, uint64_t vaddr, uint64_t *ret);

/* The id of "[libfoo.so]+0x1234", "[vdso]+0x10". */
uint32_t symbolizer_made_up_name(struct symbolizer_batch *b, uint64_t vaddr);

/* Sets both names from the one in the object file; "foo@plt" for the stub that calls foo. */
bool symbolizer_set_names(struct symbolizer_batch *b, const char *linkage, struct symline *line);
bool symbolizer_set_plt_names(struct symbolizer_batch *b, const char *target,
			      struct symline *line);

/* The id of a path; 0 if there is none.  dir may be NULL; pointers are compared, not texts. */
uint32_t symbolizer_file_id(struct symbolizer_batch *b, const char *dir, const char *file);

/* Adds a line to those of a, or the only one, with a made-up name. */
bool symbolizer_add_line(struct symbolizer_batch *b, struct symaddr *a,
			 const struct symline *line);
bool symbolizer_add_made_up(struct symbolizer_batch *b, struct symaddr *a, struct symline line);
bool symbolizer_resolve_nameless(struct symbolizer_batch *b, struct symaddr *a);

/* 0 or -ENOMEM. */
int symbolizer_resolve_each(struct symbolizer_batch *b, struct symaddr *addr, size_t n,
			    bool (*resolve)(struct symbolizer_batch *, struct symaddr *));

/* ---- by DWARF: symbolizer-dwarf.c ------------------------------------------ */

/* The deadline for one DSO whose time starts now; 0: none. */
uint64_t symbolizer_deadline(uint64_t timeout_ns);

/* Looks the addresses up in DWARF: one result each into *ret_addr, which the caller frees. */
int symbolizer_ask_dwarf(struct symdwarf *dwarf, const struct symaddr *addr, size_t n,
			 struct symdwarf_addr **ret_addr);

/* Adds all frames of da, which has a function; elf (may be NULL) has the symbols of the file. */
bool symbolizer_add_dwarf_chain(struct symbolizer_batch *b, struct symelf *elf,
				struct symaddr *a, const struct symdwarf_addr *da,
				const struct symdwarf_frame *frame);

/* The position of a frame without a function. */
struct symline symbolizer_position(struct symbolizer_batch *b, const struct symdwarf_frame *f);

/* ---- by kind of DSO --------------------------------------------------------- */

int symbolizer_resolve_elf(struct symbolizer_batch *b, struct symaddr *addr, size_t n);
bool symbolizer_resolve_pseudo(struct symbolizer_batch *b, struct symaddr *a);
bool symbolizer_resolve_memory(struct symbolizer_batch *b, struct symaddr *a);
bool symbolizer_resolve_kernel(struct symbolizer_batch *b, struct symaddr *a);
int symbolizer_resolve_kernel_debug(struct symbolizer_batch *b, struct symaddr *addr, size_t n);

/* ---- explanations for -v: symbolizer-explain.c --------------------------- */

/* Logs where names came from; dwarf_from and why_not may be NULL. */
void symbolizer_explain(const struct symbolizer_batch *b, const struct symaddr *addr, size_t n,
			const char *dwarf_from, const char *why_not);

/* Logs what would give more names; is_open: the file is an ELF file. */
void symbolizer_explain_lack(const struct symbolizer_batch *b, bool is_open, char *buf,
			     size_t n_bytes);

/* Counts problems, and appends them to the text in buf; dwarf may be NULL. */
void symbolizer_note_lack(struct symbolizer_batch *b, const struct symelf *elf,
			  const struct symdwarf *dwarf, char *buf, size_t n_bytes);

/* The same for its files that were not read. */
void symbolizer_note_unread(struct symbolizer_batch *b, const struct symdebug_unread *unread,
			    char *buf, size_t n_bytes);

#endif
