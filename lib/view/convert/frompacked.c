#include "view/convert/frompacked.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "proto/gzip.h"
#include "symbolize/pack/unpack-zstd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BYTES (1u << 20)

static bool is_zstd(const void *data, size_t n_bytes)
{
	static const uint8_t magic[] = { 0x28, 0xb5, 0x2f, 0xfd };
	return n_bytes > sizeof(magic) && memcmp(data, magic, sizeof(magic)) == 0;
}

bool frompacked_is(const void *data, size_t n_bytes)
{
	return gzip_is(data, n_bytes) || is_zstd(data, n_bytes);
}

static size_t peek_gzip(const void *data, size_t n_bytes, char *ret)
{
	z_stream z = { .next_in = (Bytef *)data, .next_out = (Bytef *)ret,
		       .avail_in = n_bytes < STEP_BYTES ? (uInt)n_bytes : STEP_BYTES,
		       .avail_out = FROMPACKED_PEEK_BYTES };
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return 0;
	inflate(&z, Z_SYNC_FLUSH);
	inflateEnd(&z);
	return FROMPACKED_PEEK_BYTES - z.avail_out;
}

/* A whole file, of several frames perhaps, but at most n_max bytes and one. */
static int run_zstd(const void *data, size_t n_bytes, size_t n_max, uint8_t **ret, size_t *ret_n)
{
	struct unpack_zstd *z = NULL;
	CLEANUP_VEC VEC(uint8_t) out = { 0 };
	const uint8_t *p = data, *end = p + n_bytes;
	int r = unpack_zstd_new(&z);
	while (r == 0 && out.n <= n_max) {
		size_t want = n_max - out.n + 1 < STEP_BYTES ? n_max - out.n + 1 : STEP_BYTES;
		const uint8_t *before = p;
		if (!VEC_RESERVE(&out, want)) {
			r = -ENOMEM;
			break;
		}
		long n = unpack_zstd_run(z, &p, end, out.v + out.n, want);
		r = n < 0 ? (int)n : 0;
		out.n += n > 0 ? (size_t)n : 0;
		if (n <= 0 && p == before)
			break;
	}
	unpack_zstd_free(z);
	if (r < 0)
		return r;
	*ret_n = out.n;
	*ret = TAKE_PTR(out.v);
	return 0;
}

size_t frompacked_peek(const void *data, size_t n_bytes, char ret[FROMPACKED_PEEK_BYTES])
{
	CLEANUP_FREE uint8_t *begin = NULL;
	size_t n = 0;
	if (gzip_is(data, n_bytes))
		return peek_gzip(data, n_bytes, ret);
	if (run_zstd(data, n_bytes, FROMPACKED_PEEK_BYTES - 1, &begin, &n) < 0)
		return 0;
	memcpy(ret, begin, n);
	return n;
}

int frompacked_read(const void *data, size_t n_bytes, uint8_t **ret_data, size_t *ret_n,
		    struct err *e)
{
	size_t n_max = gzip_plausible_bytes(n_bytes);
	uint8_t *out = NULL;
	size_t n = 0;
	if (gzip_is(data, n_bytes))
		return gzip_inflate(data, n_bytes, n_max, ret_data, ret_n, e);
	int r = run_zstd(data, n_bytes, n_max, &out, &n);
	if (r == -ENOTSUP)
		return err_set(e, ENOTSUP, "cprof was built without libzstd");
	if (r == -ENOMEM)
		return err_errno(e, ENOMEM, "cannot unpack it");
	if (r < 0)
		return err_set(e, EINVAL, "the zstd stream is damaged");
	if (n > n_max) {
		free(out);
		return err_set(e, E2BIG, "it has more than %zu bytes when unpacked", n_max);
	}
	*ret_data = out;
	*ret_n = n;
	return 0;
}
