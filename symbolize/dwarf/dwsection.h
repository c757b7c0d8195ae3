#ifndef CPROF_SYMBOLIZE_DWARF_DWSECTION_H
#define CPROF_SYMBOLIZE_DWARF_DWSECTION_H

/*
 * The bytes of debug sections (DWARF 5, section 7.1 and following).  A section is looked for when
 * it is first needed, and only the requested bytes are read and decompressed.
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
	const uint8_t *base;     /* all of it, if it is in memory anyway; else NULL */
	uint64_t n_bytes;        /* 0: no readable section */
	uint64_t file_off;       /* start of an uncompressed one */
	struct unpack *unpack;   /* of a compressed one */
	struct dwsection_part held, seen;
	bool tried;
};

struct dwsections {
	Elf *elf;                /* NULL: all sections are given, and no file is searched */
	bool is_dwo;             /* use ".debug_info.dwo" and so on */
	uint64_t deadline_ns;    /* as for symdebug_is_late; 0: none */
	const char *cache_dir;   /* as in struct unpack_from */
	int fd;                  /* the file of elf; -1: elf is in memory */
	struct dwsection v[DWSECTION_N];
};

/* Both are borrowed and must outlive it. */
void dwsection_init(struct dwsections *s, Elf *elf, int fd);
void dwsection_done(struct dwsections *s);

/* The size of the section; 0 if there is none. */
uint64_t dwsection_bytes(struct dwsections *s, enum dwsection_id id);

/* Is it compressed, so that access costs decompressing? */
bool dwsection_is_packed(struct dwsections *s, enum dwsection_id id);

/*
 * n bytes at off; fewer if the section ends before that; bad if it ends before off or cannot be
 * read.  The bytes of dwsection_hold are valid until its next call for that section; those of
 * dwsection_look, until the next call of either.
 */
struct bytes dwsection_hold(struct dwsections *s, enum dwsection_id id, uint64_t off,
			    uint64_t n_bytes);
struct bytes dwsection_look(struct dwsections *s, enum dwsection_id id, uint64_t off,
			    uint64_t n_bytes);

/* The size of a unit, line program or table at off, including its own length field (section 7.4); 0
 * if it does not fit. */
uint64_t dwsection_entry_bytes(struct dwsections *s, enum dwsection_id id, uint64_t off);

/* The string at off, or NULL if it does not end within the section, or is too long to be one.
 * Valid as long as bytes from dwsection_look. */
const char *dwsection_string(struct dwsections *s, enum dwsection_id id, uint64_t off);

#endif
