#ifndef CPROF_BASE_UTF8_H
#define CPROF_BASE_UTF8_H

/*
 * UTF-8 as RFC 3629 has it: no overlong forms, no surrogates, nothing above
 * U+10FFFF.  Thread names, paths and symbol names may hold any bytes; files and
 * JSON may not.
 */

#include <stddef.h>

/* How many bytes from the start are whole, valid characters: n when all are. */
size_t utf8_valid_prefix(const char *s, size_t n_bytes);

/* Copies n bytes of s to dst and puts U+FFFD in the place of each byte that belongs
 * to no valid character.  dst holds UTF8_CLEAN_MAX(n) bytes; no NUL is appended.
 * Returns the number of bytes written. */
#define UTF8_CLEAN_MAX(n_bytes) (3 * (n_bytes))
size_t utf8_clean(char *dst, const char *s, size_t n_bytes);

#endif
