#ifndef CPROF_SYMBOLIZE_DWARF_DWSPLIT_H
#define CPROF_SYMBOLIZE_DWARF_DWSPLIT_H

/*
 * Units that were split off (-gsplit-dwarf; DWARF 5, section 7.3.2, and GCC's form of it before):
 * in a .dwo file of their own, or all together in a .dwp file.
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

/* The unit that was split off skeleton, proven by the id that both have.  False when there is none;
 * otherwise dwunit_close, and then dwsplit_leave, are owed. */
bool dwsplit_find(struct dwsplit *s, const struct dwunit *skeleton, struct dwunit *ret);

/* Closes its .dwo file, and reads the names that were noted.  False when memory is out. */
bool dwsplit_leave(struct dwsplit *s);

#endif
