/*
 * The size is not known in advance, because the index at the end may be wrong, so the output buffer
 * grows up to the limit.
 */

#include "symbolize/elf/symxz.h"

#include "base/cleanup.h"
#include "base/vec.h"

#include <errno.h>
#include <lzma.h>

#define FIRST_BYTES (256u << 10)
#define DECODER_BYTES_MAX (128u << 20)   /* the dictionary of xz -9 needs 65 MB */

static int unpack(lzma_stream *z, uint8_t **ret_bytes, size_t *ret_n_bytes)
{
	CLEANUP_VEC VEC(uint8_t) out = { 0 };
	while (out.n < SYMXZ_BYTES_MAX) {
		if (!VEC_RESERVE(&out, out.n ? 1 : FIRST_BYTES))
			return -ENOMEM;
		z->next_out = out.v + out.n;
		z->avail_out = out.cap - out.n;
		lzma_ret r = lzma_code(z, LZMA_FINISH);
		out.n = out.cap - z->avail_out;
		if (r == LZMA_STREAM_END) {
			*ret_n_bytes = out.n;
			*ret_bytes = TAKE_PTR(out.v);
			return 0;
		}
		if (r != LZMA_OK || z->avail_out)
			return r == LZMA_MEM_ERROR ? -ENOMEM : -EINVAL;
	}
	return -EINVAL;
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
