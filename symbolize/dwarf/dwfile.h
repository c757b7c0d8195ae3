#ifndef CPROF_SYMBOLIZE_DWARF_DWFILE_H
#define CPROF_SYMBOLIZE_DWARF_DWFILE_H

/*
 * A file with debug information: its sections, and what is remembered while its units are read.
 */

#include "base/arena.h"
#include "base/hashindex.h"
#include "base/vec.h"
#include "symbolize/dwarf/dwsection.h"
#include "symbolize/dwarf/dwunit.h"

struct dwalt;
struct dwname_slot;
struct dwtext;
struct symdebug_place;

struct dwfile_extent {
	uint64_t off, end;
};

#define DWFILE_N_OTHERS 4

struct dwfile {
	struct dwfile *root;         /* itself, or the file that this one is a part of */
	struct dwsections sections;
	const struct symdebug_place *where; /* to find files that belong to it; NULL: nowhere */
	const char *elf_path;        /* its path; may be NULL */
	struct dwalt *alt;           /* see dwalt.h */
	bool alt_tried;
	const char *lost_part;       /* in root: the path of a missing part */
	struct dwabbrev_cache abbrevs;
	VEC(struct dwfile_extent) units; /* all; see dwunit_holding */
	bool units_listed;
	struct dwunit other[DWFILE_N_OTHERS]; /* units that references led to */
	unsigned next_other;
	struct arena_block *arena;   /* in root: strings returned to callers */
	VEC(struct dwname_known) names; /* see dwname.c */
	struct hashindex by_name_off;
	VEC(struct dwtext) texts;    /* in root: see dwtext.h */
	bool was_late;               /* see dwfile_is_late */
	uint64_t n_steps_left;       /* limits the work for crafted files */
	bool out_of_memory;
};

/* elf and fd as for dwsection_init. */
void dwfile_init(struct dwfile *file, Elf *elf, int fd);

/* The same for a whole file; where (may be NULL) is borrowed.  -ENOENT: it has no debug information
 * of this machine's byte order, and needs no dwfile_done. */
int dwfile_open(struct dwfile *file, Elf *elf, int fd, const struct symdebug_place *where);

/* The same for a file with units that were split off root's.  Must be closed before root. */
void dwfile_init_dwo(struct dwfile *file, Elf *elf, int fd, struct dwfile *root);
void dwfile_done(struct dwfile *file);

/* Starts a batch, and with it a new count of steps. */
void dwfile_begin(struct dwfile *file);

/* Is the time in `where` used up?  The rest of the batch is skipped then. */
bool dwfile_is_late(struct dwfile *file);

/* Uses one step; false if none is left. */
static inline bool dwfile_step(struct dwfile *file)
{
	return file->n_steps_left && file->n_steps_left--;
}

/* A copy that lives as long as root.  NULL for NULL and "", and if out of memory. */
const char *dwfile_copy(struct dwfile *file, const char *text);

#endif
