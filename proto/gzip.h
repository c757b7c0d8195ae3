#ifndef CPROF_PROTO_GZIP_H
#define CPROF_PROTO_GZIP_H

/* gzip (RFC 1952) over libdeflate and zlib: a writer in bounded memory, and a bounded reader of
 * whole buffers. */

#include "base/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zlib.h>

struct err;

struct gzip {
	VEC(uint8_t) whole;  /* all that was written so far, while it is little */
	z_stream z;
	uint8_t *out;        /* compressed bytes not yet written; NULL: zlib has not begun */
	int (*write)(void *ctx, const void *data, size_t n_bytes);
	void *ctx;
	int level;
};

/* level: zlib 0..9.  `write` receives the compressed bytes in large pieces and returns 0 or -errno.
 * 0 or -ENOMEM; on failure there is nothing to close. */
int gzip_open(struct gzip *g, int (*write)(void *ctx, const void *data, size_t n_bytes),
	      void *ctx, int level);

/* Compresses n bytes, now or later.  0, -ENOMEM or an error of `write`, after which only gzip_close
 * is allowed. */
int gzip_write(struct gzip *g, const void *data, size_t n_bytes);

/* Writes the rest and the trailer.  0, -ENOMEM or an error of `write`. */
int gzip_finish(struct gzip *g);

/* Releases the memory of a writer, finished or not, or of a zero struct. */
void gzip_close(struct gzip *g);

/* Do the bytes begin like a gzip file? */
bool gzip_is(const void *data, size_t n_bytes);

/* The size up to which n compressed bytes of a profile are decompressed: 200 times as many, but at
 * least 256 MiB and at most 4 GiB. */
#define GZIP_BLOWN_UP_TIMES 200
#define GZIP_BYTES_MAX ((size_t)4 << 30)
size_t gzip_plausible_bytes(size_t n_bytes);

/* Decompresses a whole file, which may have several members.  The caller frees *ret_data.  -EINVAL:
 * not gzip, damaged or truncated; -E2BIG: more than max_bytes (with a hint if that is less than
 * GZIP_BYTES_MAX); -ENOMEM. */
int gzip_inflate(const void *data, size_t n_bytes, size_t max_bytes, uint8_t **ret_data,
		 size_t *ret_n, struct err *e);

#endif
