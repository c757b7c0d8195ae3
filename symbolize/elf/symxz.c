#include "symbolize/elf/symxz.h"

#include "base/cleanup.h"

#include <errno.h>
#include <lzma.h>

/* The size is not known in advance (the index at the end may be wrong), so the output buffer is
 * doubled up to the limit. */

#define DECODER_BYTES_MAX (128u << 20)   /* the dictionary of xz -9 needs 65 MB */

static int unpack(lzma_stream *z, uint8_t **ret_bytes, size_t *ret_n_bytes)
{
	size_t cap = 256 << 10;
	CLEANUP_FREE uint8_t *bytes = malloc(cap);
	if (!bytes)
		return -ENOMEM;
	z->next_out = bytes;
	z->avail_out = cap;
	for (;;) {
		lzma_ret r = lzma_code(z, LZMA_FINISH);
		size_t n = cap - z->avail_out;
		if (r == LZMA_STREAM_END) {
			*ret_n_bytes = n;
			*ret_bytes = TAKE_PTR(bytes);
			return 0;
		}
		if (r != LZMA_OK || z->avail_out)
			return r == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
		if (cap >= SYMXZ_BYTES_MAX)
			return -EINVAL;
		uint8_t *more = realloc(bytes, cap * 2);
		if (!more)
			return -ENOMEM;
		bytes = more;
		z->next_out = bytes + n;
		z->avail_out = cap;
		cap *= 2;
	}
}

int symxz_unpack(const void *xz, size_t n_xz_bytes, uint8_t **ret_bytes, size_t *ret_n_bytes)
{
	lzma_stream z = LZMA_STREAM_INIT;
	if (lzma_stream_decoder(&z, DECODER_BYTES_MAX, 0) != LZMA_OK)
		return -ENOMEM;
	z.next_in = xz;
	z.avail_in = n_xz_bytes;
	int r = unpack(&z, ret_bytes, ret_n_bytes);
	lzma_end(&z);
	return r;
}
