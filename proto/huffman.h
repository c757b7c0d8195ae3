#ifndef CPROF_PROTO_HUFFMAN_H
#define CPROF_PROTO_HUFFMAN_H

/* Prefix codes of limited length, as deflate wants them. */

#include <stddef.h>
#include <stdint.h>

#define HUFFMAN_SYMBOLS_MAX 288

struct huffman_code {
	uint16_t bits;         /* the first bit of the code is the lowest one */
	uint8_t n_bits;        /* 0: the symbol does not occur */
};

/* Codes of at most max_bits bits for n symbols that occur count[i] times.  If only one symbol
 * occurs, or none, others get codes as well, so that the code is complete. */
void huffman_build(const uint32_t *count, size_t n, unsigned max_bits, struct huffman_code *ret);

/* Sets the bits of codes whose lengths are known. */
void huffman_assign(struct huffman_code *code, size_t n);

#endif
