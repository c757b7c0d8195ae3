#ifndef CPROF_SYMBOLIZE_RUNTIME_PYTHON_CODE_H
#define CPROF_SYMBOLIZE_RUNTIME_PYTHON_CODE_H

/* CPython's code objects: a function's name, its file, and the lines of its instructions. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "symbolize/runtime/python-layout.h"

struct runtime_pages;

#define PYTHON_TEXT_BYTES_MAX 1024u     /* longer names and paths are cut */
#define PYTHON_LINES_BYTES_MAX (1u << 20)

struct python_lines {                   /* a line table, and where its lines begin */
	uint8_t *bytes;                 /* NULL: it cannot be read */
	uint32_t n_bytes, first;
};

struct python_code {
	char name[PYTHON_TEXT_BYTES_MAX];       /* UTF-8: the qualified name if there is one */
	char file[PYTHON_TEXT_BYTES_MAX];
	uint64_t start, n_bytes;        /* the instructions, in the program */
	uint32_t n_frame_bytes;         /* from a frame to the next one; 0: unknown (before 3.11) */
	bool is_generator;              /* its frames are elsewhere once it has begun */
	struct python_lines lines;
};

/* What identifies a code object: its address may be reused for another one. */
struct python_code_key {
	uint64_t name, file, lines, n_bytes;
	uint32_t first_line;
};

/* False: at that address there is no code object, whose type is type_at. */
bool python_code_key(struct runtime_pages *p, const struct python_layout *l, uint64_t type_at,
		     uint64_t at, struct python_code_key *ret);

/* Has it a line table?  Other memory may look like a code object: the address of their type is in
 * dictionaries, too.  bytes_type: PyBytes_Type. */
bool python_code_has_lines(struct runtime_pages *p, const struct python_layout *l,
			   uint64_t bytes_type, uint64_t at);

/* Likewise.  python_lines_done frees the line table. */
bool python_code_read(struct runtime_pages *p, const struct python_layout *l, uint64_t type_at,
		      uint64_t at, struct python_code *ret);
void python_lines_done(struct python_lines *l);

/* Does the code at an address use the name of the other one: as a global, an attribute or a method?
 * Equal names are one object. */
bool python_code_uses(struct runtime_pages *p, const struct python_layout *l, uint64_t at,
		      uint64_t other);

/* The line of the instruction that is `off` bytes from the start; below 0: before the first one.
 * 0: it has none, or is unknown. */
uint32_t python_lines_find(enum python_lines_format format, const struct python_lines *l,
			   int64_t off);

/* The characters of a str as UTF-8, at most n_buf - 1 bytes; control characters and halves of
 * surrogate pairs become '?'.  False: it is not a str. */
bool python_code_text(struct runtime_pages *p, const struct python_layout *l, uint64_t at,
		      char *buf, size_t n_buf);

#endif
