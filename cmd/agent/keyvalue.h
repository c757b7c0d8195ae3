#ifndef CPROF_CMD_AGENT_KEYVALUE_H
#define CPROF_CMD_AGENT_KEYVALUE_H

/*
 * Files of "key=value" lines.  A key has letters, digits and "._-"; in values, control characters
 * and '%' are written as %XX.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"

struct err;

#define KEYVALUE_BYTES_MAX 65536u      /* of a file */

struct keyvalue {
	const char *key, *value;
};

struct keyvalues {
	char *text;
	VEC(struct keyvalue) pair;     /* as in the file; strings are parts of text */
};

void keyvalue_print(FILE *to, const char *key, const char *value);
void keyvalue_print_u64(FILE *to, const char *key, uint64_t value);

/* -EINVAL for a line that is not "key=value", -ENOMEM; *ret is untouched then. */
int keyvalues_parse(const char *text, size_t n_bytes, struct keyvalues *ret);

/* Reads a regular file below dir_fd, and follows no link.  -ENOENT: there is none. */
int keyvalues_read(int dir_fd, const char *name, struct keyvalues *ret, struct err *e);

/* The value of the first line with that key; NULL: there is none. */
const char *keyvalues_get(const struct keyvalues *k, const char *key);

/* As a number; 0 if there is none. */
uint64_t keyvalues_get_u64(const struct keyvalues *k, const char *key);

void keyvalues_done(struct keyvalues *k);

#endif
