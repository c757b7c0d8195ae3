#ifndef CPROF_SYMBOLIZE_DWARF_DWTEXT_H
#define CPROF_SYMBOLIZE_DWARF_DWTEXT_H

/*
 * Names of functions.  They are noted by their offset in .debug_str while units are read, and then
 * read all together, in the order of the section.
 */

#include "symbolize/dwarf/dwunit.h"

struct dwtexts;

/* A number for the string of v; 0 if there is none. */
uint32_t dwtext_note(const struct dwunit *u, const struct dwvalue *v);

/* Reads all noted strings of these sections.  False: out of memory. */
bool dwtext_read(struct dwfile *root, struct dwsections *from);

/* The string that dwtext_read has read.  NULL for 0, for "", and if it could not be read.  Lives as
 * long as root. */
const char *dwtext_get(const struct dwfile *root, uint32_t number);

/* Frees the list, not the texts. */
void dwtext_done(struct dwfile *root);

#endif
