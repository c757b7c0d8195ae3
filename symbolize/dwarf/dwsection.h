#ifndef CPROF_SYMBOLIZE_DWARF_DWSECTION_H
#define CPROF_SYMBOLIZE_DWARF_DWSECTION_H

/*
 * The bytes of the sections that the reader of debug information asks for (DWARF 5, section
 * 7.1 and following).  A section is looked for when first asked for, and of it only those
 * bytes are read, and unpacked, that somebody needs.
 */

#include "base/bytes.h"

#include <libelf.h>

struct unpack;

enum dwsection_id {
	DWSECTION_INFO,
	DWSECTION_ABBREV,
	DWSECTION_ARANGES,
	DWSECTION_LINE,
	DWSECTION_STR,
	DWSECTION_LINE_STR,
	DWSECTION_STR_OFFSETS,
	DWSECTION_ADDR,
	DWSECTION_RANGES,
	DWSECTION_RNGLISTS,
	DWSECTION_CU_INDEX,          /* only in .dwp files */
	DWSECTION_N,
};

/* A copy of a part of a section. */
struct dwsection_part {
	uint8_t *bytes;
	size_t n_bytes, cap;
	uint64_t off;
};

struct dwsection {
	const uint8_t *base;     /* all of it, where that is in memory anyway; else NULL */
	uint64_t n_bytes;        /* 0: there is none that can be read */
	uint64_t file_off;       /* where one that is stored as it is begins */
	struct unpack *unpack;   /* of a compressed one */
	struct dwsection_part held, seen;
	bool tried;
};

struct dwsections {
	Elf *elf;                /* NULL: all sections are given, none is looked for */
	bool is_dwo;             /* ".debug_info.dwo" and so on are meant */
	uint64_t deadline_ns;    /* as for symdebug_is_late; 0: none */
	const char *cache_dir;   /* as in struct unpack_from */
	int fd;                  /* the file of elf; -1: it is in memory */
	struct dwsection v[DWSECTION_N];
};

/* Neither is taken over; both must outlive it. */
void dwsection_init(struct dwsections *s, Elf *elf, int fd);
void dwsection_done(struct dwsections *s);

/* How long the section is; 0 where there is none. */
uint64_t dwsection_bytes(struct dwsections *s, enum dwsection_id id);

/* Must it be unpacked from its beginning, to get at any of it? */
bool dwsection_is_packed(struct dwsections *s, enum dwsection_id id);

/*
 * n bytes at off, fewer where the section ends before that, bad where it ends before off or where
 * they cannot be read.  What dwsection_hold lends is there until its next call for that section;
 * what dwsection_look lends, until the next call of either.
 */
struct bytes dwsection_hold(struct dwsections *s, enum dwsection_id id, uint64_t off,
			    uint64_t n_bytes);
struct bytes dwsection_look(struct dwsections *s, enum dwsection_id id, uint64_t off,
			    uint64_t n_bytes);

/* How many bytes a unit, line program or table at off takes, with the length that it begins with
 * (section 7.4); 0 where it does not fit. */
uint64_t dwsection_entry_bytes(struct dwsections *s, enum dwsection_id id, uint64_t off);

/* The string at off, or NULL when it does not end within the section, or is too long to be
 * one; there as long as what dwsection_look lends. */
const char *dwsection_string(struct dwsections *s, enum dwsection_id id, uint64_t off);

#endif
