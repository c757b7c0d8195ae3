#ifndef CPROF_VIEW_CONVERT_JSONREAD_H
#define CPROF_VIEW_CONVERT_JSONREAD_H

/*
 * Reads JSON (RFC 8259) of another tool piece by piece.  What is wrong sets `bad`, after which all
 * functions return false, so that it is enough to look once at the end.
 *
 *	for (jsonread_begin(j, '{'); jsonread_more(j, '}');)
 *		if (jsonread_key(j, &key) && ...)
 *			... exactly one value: a function below, or jsonread_skip
 */

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jsonread {
	const char *at, *end;
	bool is_first;                  /* item of an array or object */
	bool bad;
};

struct jsonread_text { VEC(char) bytes; };   /* ends in NUL, and contains no other */

static inline struct jsonread jsonread_of(const char *text, size_t n_bytes)
{
	return (struct jsonread){ .at = text, .end = text + n_bytes };
}

/* Enters an array '[' or an object '{'. */
bool jsonread_begin(struct jsonread *j, char open);

/* Is there another item?  Otherwise skips the end, ']' or '}'. */
bool jsonread_more(struct jsonread *j, char close);

bool jsonread_key(struct jsonread *j, struct jsonread_text *ret);
bool jsonread_string(struct jsonread *j, struct jsonread_text *ret);
/* A whole number from 0 to 2^64 - 1. */
bool jsonread_number(struct jsonread *j, uint64_t *ret);
/* Any value. */
bool jsonread_skip(struct jsonread *j);

#endif
