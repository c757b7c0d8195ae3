/*
 * Compressed sections: kind (1 byte), claimed size (u16, in units of 64 bytes), whether everything
 * is kept (1 byte), then the compressed bytes.  Parts are read forwards and backwards and must be
 * the same each time; for zlib's kind they must equal zlib's result, if zlib accepts the input.
 */

#include "symbolize/pack/unpack.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <zlib.h>

#define N_MAX (65536u * 64)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void compare(struct unpack *u, uint64_t n_bytes, const uint8_t *zlib, uint8_t *all)
{
	uint8_t part[777];
	size_t n_all = unpack_copy(u, 0, all, n_bytes);
	check(n_all <= n_bytes);
	check(!zlib || (n_all == n_bytes && memcmp(all, zlib, n_bytes) == 0));
	for (uint64_t off = n_bytes - 1; off < n_bytes; off -= 1 + n_bytes / 9) {
		size_t n = n_bytes - off < sizeof(part) ? n_bytes - off : sizeof(part);
		n = unpack_copy(u, off, part, n);
		check(n <= sizeof(part) && (n == 0 || off + n <= n_all) &&
		      memcmp(all + off, part, n) == 0);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes b = bytes_of(data, size);
	unsigned kind = bytes_u8(&b);
	uint64_t n_bytes = (uint64_t)bytes_u16(&b) * 64;
	bool is_kept = bytes_u8(&b) & 1;
	size_t n_packed = bytes_left(&b);
	/* allocated separately, so the sanitizer detects every read beyond the end */
	uint8_t *packed = malloc(n_packed + 1), *all = malloc(N_MAX), *zlib = malloc(N_MAX);
	check(packed && all && zlib);
	memcpy(packed, b.p, n_packed);
	packed = realloc(packed, n_packed ? n_packed : 1);
	check(packed != NULL);
	struct unpack_from from = { .memory = packed, .fd = -1, .n_bytes = n_packed };
	struct unpack *u;
	if (unpack_open(kind, &from, n_bytes, is_kept ? N_MAX : 0, &u) == 0) {
		uLongf n = n_bytes;
		bool same = kind == UNPACK_ZLIB && n_packed &&
			    uncompress(zlib, &n, packed, n_packed) == Z_OK && n == n_bytes;
		compare(u, n_bytes, same ? zlib : NULL, all);
		unpack_close(u);
	}
	free(packed);
	free(all);
	free(zlib);
	return 0;
}
