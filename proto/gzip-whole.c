#include "proto/gzip-whole.h"

#include <libdeflate.h>
#include <stdlib.h>

#define BYTES_MAX ((size_t)8 << 20)
#define FLAGS_AT 3
#define FLAG_HEADER_CRC 2       /* libdeflate does not check it */

size_t gzip_whole_bytes_max(void)
{
	return BYTES_MAX;
}

uint8_t *gzip_whole_deflate(const void *data, size_t n_bytes, int level, size_t *ret_n)
{
	/* at 2 it is still faster than zlib at 1, and a profile is 4 to 5 % smaller than at 1 */
	struct libdeflate_compressor *c = libdeflate_alloc_compressor(level == 1 ? 2 : level);
	if (!c)
		return NULL;
	size_t n_out = libdeflate_gzip_compress_bound(c, n_bytes);
	uint8_t *out = malloc(n_out);
	*ret_n = out ? libdeflate_gzip_compress(c, data, n_bytes, out, n_out) : 0;
	libdeflate_free_compressor(c);
	if (*ret_n == 0) {
		free(out);
		return NULL;
	}
	return out;
}

bool gzip_whole_inflate(const void *data, size_t n_bytes, uint8_t *out, size_t n_out,
			size_t *ret_n)
{
	const uint8_t *p = data;
	size_t n_read = 0;
	if (n_bytes <= FLAGS_AT || p[FLAGS_AT] & FLAG_HEADER_CRC)
		return false;
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	if (!d)
		return false;
	enum libdeflate_result result = libdeflate_gzip_decompress_ex(d, data, n_bytes, out, n_out,
								      &n_read, ret_n);
	libdeflate_free_decompressor(d);
	return result == LIBDEFLATE_SUCCESS && n_read == n_bytes;
}
