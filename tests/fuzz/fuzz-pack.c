/*
 * Any bytes through the packer: what zlib makes of it again must be the same.  The first byte says
 * in which pieces they are written, the second how often they are repeated.
 */

#include "base/err.h"
#include "base/vec.h"
#include "proto/gzip.h"

#include <stdlib.h>
#include <string.h>

struct bytes_out {
	VEC(uint8_t) bytes;
};

static void check(bool ok)
{
	if (!ok)
		abort();
}

static int keep(void *ctx, const void *data, size_t n_bytes)
{
	struct bytes_out *out = ctx;
	check(VEC_RESERVE(&out->bytes, n_bytes));
	memcpy(out->bytes.v + out->bytes.n, data, n_bytes);
	out->bytes.n += n_bytes;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	size_t piece = 1 + data[0] * 300u, times = 1 + data[1] % 64, n = (size - 2) * times;
	uint8_t *all = malloc(n + 1), *back;
	check(all);
	for (size_t i = 0; i < times && size > 2; i++)
		memcpy(all + i * (size - 2), data + 2, size - 2);
	struct bytes_out out = { 0 };
	struct gzip g = { 0 };
	struct err e;
	size_t n_back;
	check(gzip_open(&g, keep, &out, 1) == 0);
	for (size_t i = 0; i < n; i += piece)
		check(gzip_write(&g, all + i, n - i < piece ? n - i : piece) == 0);
	check(gzip_finish(&g) == 0);
	gzip_close(&g);
	check(gzip_inflate(out.bytes.v, out.bytes.n, n + 1, &back, &n_back, &e) == 0);
	check(n_back == n && memcmp(back, all, n) == 0);
	free(back);
	free(all);
	VEC_FREE(&out.bytes);
	return 0;
}
