#ifndef CPROF_SYMBOLIZE_DWARF_DWALT_H
#define CPROF_SYMBOLIZE_DWARF_DWALT_H

/*
 * The file to which dwz moved the common parts of several debug files: .gnu_debugaltlink (dwz(1)),
 * or .debug_sup (DWARF 5, section 7.3.6).
 */

#include "symbolize/dwarf/dwfile.h"

/* Opened at the first call; NULL if no matching file is found.  Belongs to file. */
struct dwfile *dwalt_get(struct dwfile *file);

/* For dwfile_done. */
void dwalt_done(struct dwfile *file);

#endif
