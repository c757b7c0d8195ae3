#ifndef CPROF_SYMBOLIZE_DWARF_DWMEMBER_H
#define CPROF_SYMBOLIZE_DWARF_DWMEMBER_H

/*
 * Where the members of structures are (DWARF 5, sections 5.7.1 and 5.7.6), for programs whose
 * memory is read and whose layout differs from version to version.
 */

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dwfile;
struct symdebug_place;

struct dwmember {
	const char *type;       /* "runtime.g": of a type outside of functions */
	const char *name;       /* "goid"; NULL: only the type is looked for */
	bool is_found;          /* out */
	uint32_t off;           /* out: in bytes, from the start of the structure */
};

/* Looks for n members, at most DWMEMBER_MAX, in all compile units of a language (DW_LANG_*).  The
 * first type that has a member decides.  Damaged parts find less. */
#define DWMEMBER_MAX 64u
void dwmember_find(struct dwfile *file, uint16_t language, struct dwmember *want, size_t n);

/* The same for a file; elf and fd as for symdwarf_open.  0, -ENOENT (it has no debug information),
 * or -ENOMEM. */
int dwmember_find_file(Elf *elf, int fd, const struct symdebug_place *where, uint16_t language,
		       struct dwmember *want, size_t n);

#endif
