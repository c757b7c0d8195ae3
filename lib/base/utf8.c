/*
 * Validates by the table of well-formed byte sequences (Unicode standard, table 3-7): the first
 * byte determines the length and the range of the second byte; all others are 80..bf.  Nearly all
 * text is ASCII, so eight bytes at a time are skipped while none has its top bit set.
 */

#include "base/utf8.h"

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
