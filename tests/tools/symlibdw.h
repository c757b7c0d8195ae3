#ifndef CPROF_TESTS_TOOLS_SYMLIBDW_H
#define CPROF_TESTS_TOOLS_SYMLIBDW_H

/*
 * The functions of symdwarf.h, on libdw: slower, with much more memory, for all forms: split
 * units (DWARF 5, section 7.3.2), and parts that dwz moved into a common file.
 */

#include "symbolize/dwarf/symdwarf.h"

struct symlibdw;

/* As the functions of symdwarf.h. */
int symlibdw_open(Elf *elf, const char *elf_path, const struct symdebug_place *where,
		  struct symlibdw **ret_dwarf);
void symlibdw_close(struct symlibdw *s);
int symlibdw_resolve(struct symlibdw *s, struct symdwarf_addr *addr, size_t n);
const struct symdwarf_frame *symlibdw_frames(const struct symlibdw *s);

#endif
