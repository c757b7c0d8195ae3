#ifndef CPROF_SYMBOLIZE_RUNTIME_V8_SCRIPT_H
#define CPROF_SYMBOLIZE_RUNTIME_V8_SCRIPT_H

/* Lines of scripts, by the positions of V8: numbers of characters from the source's start. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct v8_heap;

/* Another script may take its address. */
struct v8_script_key {
	uint64_t at, source;            /* 0: none */
	uint32_t n_chars, first_line;   /* lines before it, in its file */
};

struct v8_script {
	struct v8_script_key key;
	uint32_t *start, n;             /* positions of the lines; n 0: they are unknown */
	uint32_t used;                  /* private */
};

/* The scripts whose sources were read. */
struct v8_scripts {
	VEC(struct v8_script) scripts;
	size_t n_bytes;                 /* of memory */
	uint32_t n_used;
};

void v8_scripts_done(struct v8_scripts *s);

struct v8_script_key v8_script_key(const struct v8_heap *h, uint64_t script);

/* The line of a position, from 1 on; 0: unknown.  Reads the source when it is needed. */
uint32_t v8_script_line(const struct v8_heap *h, struct v8_scripts *s,
			const struct v8_script_key *key, int64_t position);

struct v8_position {
	int64_t offset;                 /* characters; -1: unknown */
	uint32_t inlined;               /* the number of an inlined function plus one; 0: none */
};

/* A position as V8 stores it (source-position.h). */
struct v8_position v8_position_of(uint64_t bits);

/* The position that a table of V8 (source-position-table.cc) has for an offset of code: that of
 * the last entry at or before it. */
struct v8_position v8_positions_find(const uint8_t *table, size_t n_bytes, uint32_t off);

#endif
