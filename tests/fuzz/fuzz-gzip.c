/*
 * Decompresses an untrusted gzip file, with a limit from its first byte: 1 to 256 KiB.  What zlib
 * alone makes of it must be the same, and errors must be those of the interface.  Any bytes that
 * are compressed in pieces must be restored.
 */

#include "base/err.h"
#include "base/membuf.h"
#include "proto/gzip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

/* The size of all members; -1: damaged, truncated, or too large. */
static long inflate_by_zlib(const uint8_t *data, size_t size, uint8_t *out, size_t max_bytes)
{
	z_stream z = { .next_in = (Bytef *)data, .avail_in = (uInt)size, .next_out = out,
		       .avail_out = (uInt)max_bytes };
	check(inflateInit2(&z, 15 + 16) == Z_OK);
	int status;
	while ((status = inflate(&z, Z_FINISH)) == Z_STREAM_END && z.avail_in > 0)
		inflateReset(&z);
	inflateEnd(&z);
	return status == Z_STREAM_END ? (long)(max_bytes - z.avail_out) : -1;
}

static void try_inflate(const uint8_t *data, size_t size, size_t max_bytes)
{
	uint8_t *want = malloc(max_bytes), *got = NULL;
	size_t n_got = 0;
	struct err e = { 0 };
	check(want != NULL);
	long n_want = inflate_by_zlib(data, size, want, max_bytes);
	int r = gzip_inflate(data, size, max_bytes, &got, &n_got, &e);
	check(r == 0 || ((r == -EINVAL || r == -E2BIG) && e.what[0] && !got));
	check(r != 0 || n_got <= max_bytes);
	check(n_want < 0 || r == 0);
	check(n_want < 0 || (n_got == (size_t)n_want && memcmp(got, want, n_got) == 0));
	free(got);
	free(want);
}

static void try_deflate(const uint8_t *data, size_t size, int level)
{
	struct membuf packed = { 0 };
	struct gzip g = { 0 };
	uint8_t *back = NULL;
	size_t n_back = 0;
	check(gzip_open(&g, membuf_write, &packed, level) == 0);
	for (size_t i = 0; i < size; i += 1000)
		check(gzip_write(&g, data + i, size - i < 1000 ? size - i : 1000) == 0);
	check(gzip_finish(&g) == 0);
	gzip_close(&g);
	check(gzip_inflate(packed.bytes.v, packed.bytes.n, size, &back, &n_back, NULL) == 0);
	check(n_back == size && (size == 0 || memcmp(back, data, size) == 0));
	free(back);
	VEC_FREE(&packed.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	try_inflate(data + 1, size - 1, ((size_t)data[0] + 1) << 10);
	try_deflate(data, size, data[0] % 10);
	return 0;
}
