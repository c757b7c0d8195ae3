#ifndef CPROF_BASE_UTF8_H
#define CPROF_BASE_UTF8_H

/*
 * UTF-8 by RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF.  Names of threads,
 * files and symbols may contain any bytes; profiles and JSON may not.
 */

#include <stddef.h>
#include <stdint.h>

/* The number of bytes before the first one that is not part of a valid character. */
size_t utf8_valid_prefix(const char *s, size_t n_bytes);

/* Copies n bytes of s to dst; U+FFFD replaces each byte that is not part of a valid character.
 * dst has room for UTF8_CLEAN_MAX(n) bytes; no NUL is appended.  Returns the number of bytes
 * written. */
#define UTF8_CLEAN_MAX(n_bytes) (3 * (n_bytes))
size_t utf8_clean(char *dst, const char *s, size_t n_bytes);

/* Writes a character and returns its length.  '?' replaces control characters of ASCII, surrogates
 * and what is above U+10FFFF. */
#define UTF8_BYTES_MAX 4u
size_t utf8_encode(char text[UTF8_BYTES_MAX], uint32_t character);

/*
 * Is the character at p, in valid UTF-8, one that a terminal obeys, or one that makes the text
 * around it appear in another order?  These are the control characters (U+0000-001F, U+007F,
 * U+0080-009F) and the bidirectional ones (Unicode standard annex 9: U+061C, U+200E-200F,
 * U+202A-202E, U+2066-2069).  Returns its length in bytes, and the character in *ret_char; 0 for
 * all others, and for the NUL that ends a string.
 */
size_t utf8_control(const char *p, uint32_t *ret_char);

#endif
