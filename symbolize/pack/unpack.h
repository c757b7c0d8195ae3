#ifndef CPROF_SYMBOLIZE_PACK_UNPACK_H
#define CPROF_SYMBOLIZE_PACK_UNPACK_H

/*
 * Random access to a compressed section.  Nothing after the requested bytes is decompressed, and
 * only a small part of a large section is kept in memory.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

enum unpack_kind { UNPACK_ZLIB = 1, UNPACK_ZSTD = 2 }; /* as ELFCOMPRESS_ZLIB and _ZSTD */

/* The compressed bytes, in memory or in a file. */
struct unpack_from {
	const uint8_t *memory;   /* NULL: in the file */
	int fd;
	uint64_t off, n_bytes;   /* off: in the file */
	uint64_t deadline_ns;    /* CLOCK_MONOTONIC; nothing is decompressed after it; 0: none */
	const char *cache_dir;   /* of decompressed bytes and access points; NULL: no cache */
};

/* n_bytes: the decompressed size according to the header.  A section of at most keep_bytes stays
 * in memory.  0; -EINVAL if the size is impossible, -ENOTSUP if the library for that kind is
 * missing, -ENOMEM. */
int unpack_open(enum unpack_kind kind, const struct unpack_from *from, uint64_t n_bytes,
		uint64_t keep_bytes, struct unpack **ret_unpack);
void unpack_close(struct unpack *u);

/* Copies n_bytes at off, which must be within the section.  Returns how many were copied: fewer
 * if the compressed bytes are damaged or cannot be read. */
size_t unpack_copy(struct unpack *u, uint64_t off, void *to, size_t n_bytes);

/* The same bytes in place, *io_n_bytes of them or fewer, valid until close.  NULL for a section
 * that does not stay in memory. */
const uint8_t *unpack_kept(struct unpack *u, uint64_t off, size_t *io_n_bytes);

#endif
