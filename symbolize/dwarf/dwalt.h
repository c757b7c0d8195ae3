#ifndef CPROF_SYMBOLIZE_DWARF_DWALT_H
#define CPROF_SYMBOLIZE_DWARF_DWALT_H

/*
 * The file that dwz moved to what several debug files have in common: .gnu_debugaltlink (dwz(1)),
 * or .debug_sup (DWARF 5, section 7.3.6).
 */

#include "symbolize/dwarf/dwfile.h"

/* Opened when first asked for; NULL when there is none that proves to be it.  Belongs to file. */
struct dwfile *dwalt_get(struct dwfile *file);

/* For dwfile_done. */
void dwalt_done(struct dwfile *file);

#endif
