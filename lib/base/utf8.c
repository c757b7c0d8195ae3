/*
 * Validates by the table of well-formed byte sequences (Unicode standard, table 3-7): the first
 * byte determines the length and the range of the second byte; all others are 80..bf.  Nearly all
 * text is ASCII, so eight bytes at a time are skipped while none has its top bit set.
 */

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* The length of the non-ASCII character at p in bytes; 0 if it is not valid. */
static size_t character(const unsigned char *p, size_t n_left)
{
	unsigned char lead = p[0], low = 0x80, high = 0xbf;
	size_t n;
	if (lead >= 0xc2 && lead <= 0xdf)
		n = 2;
	else if (lead >= 0xe0 && lead <= 0xef)
		n = 3;
	else if (lead >= 0xf0 && lead <= 0xf4)
		n = 4;
	else
		return 0;
	if (n > n_left)
		return 0;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (p[1] < low || p[1] > high)
		return 0;
	for (size_t i = 2; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	return n;
}

size_t utf8_valid_prefix(const char *s, size_t n_bytes)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t i = 0;
	while (i < n_bytes) {
		uint64_t word;
		if (n_bytes - i >= sizeof(word)) {
			memcpy(&word, p + i, sizeof(word));
			if ((word & 0x8080808080808080u) == 0) {
				i += sizeof(word);
				continue;
			}
		}
		size_t n = p[i] < 0x80 ? 1 : character(p + i, n_bytes - i);
		if (n == 0)
			break;
		i += n;
	}
	return i;
}

size_t utf8_clean(char *dst, const char *s, size_t n_bytes)
{
	size_t n_out = 0;
	while (n_bytes > 0) {
		size_t n = utf8_valid_prefix(s, n_bytes);
		memcpy(dst + n_out, s, n);
		n_out += n;
		s += n;
		n_bytes -= n;
		if (n_bytes == 0)
			break;
		memcpy(dst + n_out, REPLACEMENT, 3);
		n_out += 3;
		s++;
		n_bytes--;
	}
	return n_out;
}

size_t utf8_encode(char text[UTF8_BYTES_MAX], uint32_t c)
{
	size_t n = 0;
	if (c < 0x20 || c == 0x7f || (c >= 0xd800 && c < 0xe000) || c > 0x10ffff)
		c = '?';
	if (c < 0x80) {
		text[n++] = (char)c;
		return n;
	}
	if (c < 0x800) {
		text[n++] = (char)(0xc0 | c >> 6);
	} else if (c < 0x10000) {
		text[n++] = (char)(0xe0 | c >> 12);
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	} else {
		text[n++] = (char)(0xf0 | c >> 18);
		text[n++] = (char)(0x80 | (c >> 12 & 0x3f));
		text[n++] = (char)(0x80 | (c >> 6 & 0x3f));
	}
	text[n++] = (char)(0x80 | (c & 0x3f));
	return n;
}

size_t utf8_control(const char *p, uint32_t *ret_char)
{
	const unsigned char *u = (const unsigned char *)p;
	uint32_t c = u[0];
	if (c < 0x20 || c == 0x7f) {
		*ret_char = c;
		return c != 0;
	}
	/* All others begin with one of these bytes. */
	if (c != 0xc2 && c != 0xd8 && c != 0xe2)
		return 0;
	size_t n = c == 0xe2 ? 3 : 2;
	c = n == 3 ? (c & 0x0f) << 12 | (u[1] & 0x3fu) << 6 | (u[2] & 0x3fu)
		   : (c & 0x1f) << 6 | (u[1] & 0x3fu);
	bool second_range = c >= 0x80 && c <= 0x9f;
	bool bidirectional = c == 0x061c || c == 0x200e || c == 0x200f ||
			     (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
	if (!second_range && !bidirectional)
		return 0;
	*ret_char = c;
	return n;
}
