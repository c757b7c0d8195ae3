#ifndef CPROF_BASE_UTF8_H
#define CPROF_BASE_UTF8_H

/*
 * UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.  Names of threads,
 * files and symbols may contain any bytes; profiles and JSON may not.
 */

#include <stddef.h>

/* The number of bytes before the first one that is not part of a valid character. */
size_t utf8_valid_prefix(const char *s, size_t n_bytes);

/* Copies n bytes of s to dst; U+FFFD replaces each byte that is not part of a valid character.
 * dst has room for UTF8_CLEAN_MAX(n) bytes; no NUL is appended.  Returns the number of bytes
 * written. */
#define UTF8_CLEAN_MAX(n_bytes) (3 * (n_bytes))
size_t utf8_clean(char *dst, const char *s, size_t n_bytes);

#endif
