#ifndef CPROF_SYMBOLIZE_PACK_UNPACK_H
#define CPROF_SYMBOLIZE_PACK_UNPACK_H

/*
 * Bytes from anywhere in a compressed section, without unpacking more than what comes before
 * them, and without keeping more than a little of a large one.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unpack;

enum unpack_kind { UNPACK_ZLIB = 1, UNPACK_ZSTD = 2 }; /* as ELFCOMPRESS_ZLIB and _ZSTD */

/* Where the packed bytes are: in memory, or else in a file. */
struct unpack_from {
	const uint8_t *memory;
	int fd;
	uint64_t off, n_bytes;   /* of the file; memory has n_bytes, too */
	uint64_t deadline_ns;    /* of CLOCK_MONOTONIC: then nothing more comes; 0: none */
	const char *cache_dir;   /* where what is unpacked of a file is kept; NULL: nowhere */
};

#define UNPACK_KEEP_BYTES (48u << 20)

/* n_bytes is what it claims to unpack to; of more than keep_bytes only a part is kept.  0; -EINVAL
 * when that cannot be, -ENOTSUP where the library for that kind is missing, -ENOMEM. */
int unpack_open(enum unpack_kind kind, const struct unpack_from *from, uint64_t n_bytes,
		uint64_t keep_bytes, struct unpack **ret_unpack);
void unpack_close(struct unpack *u);

/* Copies n bytes at off, which lie within the section, to `to`; how many it were: fewer where the
 * packed bytes are damaged or cannot be read. */
size_t unpack_copy(struct unpack *u, uint64_t off, void *to, size_t n_bytes);

/* The same bytes where they are kept until close, *io_n_bytes of them or fewer; NULL for a
 * section too large to be kept. */
const uint8_t *unpack_kept(struct unpack *u, uint64_t off, size_t *io_n_bytes);

/* Unpacks what the cache does not have, for the next who opens it, until *stop is set. */
void unpack_ahead(struct unpack *u, const atomic_bool *stop);

#endif
