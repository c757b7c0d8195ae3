#ifndef CPROF_SYMBOLIZE_DWARF_DWTEXT_H
#define CPROF_SYMBOLIZE_DWARF_DWTEXT_H

/*
 * Names of functions: noted by their place in .debug_str while units are read, and read all
 * together, in the order of the section.
 */

#include "symbolize/dwarf/dwunit.h"

struct dwtexts;

/* A number for the string that v stands for; 0 when there is none. */
uint32_t dwtext_note(const struct dwunit *u, const struct dwvalue *v);

/* Reads all that was noted of strings in these sections.  False when memory is out. */
bool dwtext_read(struct dwfile *root, struct dwsections *from);

/* What dwtext_read has read; NULL for 0 and for "" and for what could not be read.  Lives as long
 * as root. */
const char *dwtext_get(const struct dwfile *root, uint32_t number);

/* Frees the list, not the texts. */
void dwtext_done(struct dwfile *root);

#endif
