#ifndef CPROF_SYMBOLIZE_PACK_UNPACK_ZSTD_H
#define CPROF_SYMBOLIZE_PACK_UNPACK_ZSTD_H

/* Sections compressed with zstd (RFC 8878).  Without libzstd, unpack-zstd-none.c is used. */

#include <stddef.h>
#include <stdint.h>

struct unpack_zstd;

/* 0, -ENOTSUP if cprof was built without libzstd, -ENOMEM. */
int unpack_zstd_new(struct unpack_zstd **ret_zstd);
void unpack_zstd_free(struct unpack_zstd *z);

/* Back to the beginning of the stream. */
void unpack_zstd_restart(struct unpack_zstd *z);

/* Decompresses from **p up to end into out, at most n_out bytes, and advances *p.  Returns the
 * number of bytes, or -EINVAL. */
long unpack_zstd_run(struct unpack_zstd *z, const uint8_t **p, const uint8_t *end, uint8_t *out,
		     size_t n_out);

#endif
