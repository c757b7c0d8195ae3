#ifndef CPROF_SYMBOLIZE_RUNTIME_GO_DWARF_H
#define CPROF_SYMBOLIZE_RUNTIME_GO_DWARF_H

/*
 * The layout of goroutines from a program's debug information, which shows it for every version of
 * Go, also for those that are newer than cprof.
 */

#include <libelf.h>
#include <stdbool.h>

struct go_layout;
struct symdebug_place;

/* elf and fd as for symdwarf_open.  False: it has no debug information, or this lacks a structure
 * or a member that every known version has, or memory is short. */
bool go_dwarf_layout(Elf *elf, int fd, const struct symdebug_place *where, struct go_layout *ret);

#endif
