#ifndef CPROF_PROTO_HUFFMAN_H
#define CPROF_PROTO_HUFFMAN_H

/* Prefix codes for deflate (RFC 1951, 3.2.2). */

#include <stddef.h>
#include <stdint.h>

#define HUFFMAN_SYMBOLS_MAX 288u
#define HUFFMAN_BITS_MAX 15u

/* Lengths of a code for n symbols that occur so often, none longer than max_bits; 0 for those that
 * do not occur.  At least two symbols get a code, so that it is complete.  n <=
 * HUFFMAN_SYMBOLS_MAX <= 1 << max_bits; the sum of frequencies is below 1 << 32. */
void huffman_lengths(const uint32_t *frequency, size_t n, unsigned max_bits, uint8_t *ret_bits);

/* The codes of these lengths, first bit lowest, as deflate writes them. */
void huffman_codes(const uint8_t *bits, size_t n, uint16_t *ret_code);

#endif
