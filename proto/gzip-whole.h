#ifndef CPROF_PROTO_GZIP_WHOLE_H
#define CPROF_PROTO_GZIP_WHOLE_H

/* gzip of whole buffers by libdeflate, which takes half of zlib's time to uncompress, and 60 % to
 * compress.  Without it both functions fail: callers must be able to do the same with zlib. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest buffer that is worth holding for gzip_whole_deflate; 0 without libdeflate. */
size_t gzip_whole_bytes_max(void);

/* Compresses into one member; the caller frees it.  NULL: do it with zlib. */
uint8_t *gzip_whole_deflate(const void *data, size_t n_bytes, int level, size_t *ret_n);

/* Decompresses data that is exactly one member into at most n_out bytes.  False: it is not, it is
 * damaged, or does not fit; zlib can tell. */
bool gzip_whole_inflate(const void *data, size_t n_bytes, uint8_t *out, size_t n_out,
			size_t *ret_n);

#endif
