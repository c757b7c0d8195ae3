#ifndef CPROF_SYMBOLIZE_DWARF_DWSPLIT_H
#define CPROF_SYMBOLIZE_DWARF_DWSPLIT_H

/*
 * Split units (-gsplit-dwarf; DWARF 5, section 7.3.2, and GCC's earlier form): each in a .dwo file
 * of its own, or all together in a .dwp file.
 */

#include "symbolize/dwarf/dwfile.h"

struct dwsplit_file {
	struct dwfile file;
	Elf *elf;
	int fd;
};

struct dwsplit {
	struct dwfile *root;
	struct dwsplit_file *dwp, *dwo;
	bool dwp_tried;
};

/* root must outlive it. */
void dwsplit_init(struct dwsplit *s, struct dwfile *root);
void dwsplit_done(struct dwsplit *s);

/* The split unit of the skeleton, verified by their common id.  False if there is none: *ret is as
 * it was; true requires dwunit_close, then dwsplit_leave. */
bool dwsplit_find(struct dwsplit *s, const struct dwunit *skeleton, struct dwunit *ret);

/* Closes the .dwo file, and reads the noted names.  False: out of memory. */
bool dwsplit_leave(struct dwsplit *s);

#endif
