#ifndef CPROF_SYMBOLIZE_DWSECTION_H
#define CPROF_SYMBOLIZE_DWSECTION_H

/*
 * The bytes of the sections that the reader of debug information asks for (DWARF 5, section
 * 7.1 and following).  A section is looked at when first asked for, and inflated only then; one
 * that is stored as it is gets mapped, and its pages can be given back at any time.
 */

#include "base/bytes.h"

#include <libelf.h>

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
	DWSECTION_N,
};

struct dwsection {
	const uint8_t *base;
	size_t n_bytes;          /* 0: there is none that can be read */
	void *map;               /* what to unmap; NULL: base belongs to the Elf */
	size_t n_map_bytes;
	uint64_t file_off;       /* where a mapped one begins in the file */
	bool tried;
};

struct dwsections {
	Elf *elf;                /* NULL: all sections are given, none is looked for */
	int fd;                  /* the file of elf; -1: there is none */
	struct dwsection v[DWSECTION_N];
};

/* Neither is taken over; both must outlive it. */
void dwsection_init(struct dwsections *s, Elf *elf, int fd);
void dwsection_done(struct dwsections *s);

/* The section; n_bytes is 0 where there is none.  Borrowed until dwsection_done. */
const struct dwsection *dwsection_get(struct dwsections *s, enum dwsection_id id);

/* From off to the end of the section; bad when off lies beyond. */
struct bytes dwsection_from(struct dwsections *s, enum dwsection_id id, uint64_t off);

/* The string at off, or NULL when it does not end within the section. */
const char *dwsection_string(struct dwsections *s, enum dwsection_id id, uint64_t off);

/* Copies up to n bytes at off, by reading the file where the section is mapped: a look at a page
 * that is not mapped yet costs more, and maps up to 2 MB around it.  How many it were. */
size_t dwsection_copy(struct dwsections *s, enum dwsection_id id, uint64_t off, void *to,
		      size_t n_bytes);

/* Gives the memory of mapped sections back; their bytes come again when they are touched. */
void dwsection_give_back(struct dwsections *s);

#endif
