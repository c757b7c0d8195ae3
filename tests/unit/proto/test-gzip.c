#include "base/err.h"
#include "proto/gzip.h"
#include "sink.h"
#include "tap.h"

#include <string.h>

#define FLAGS_AT 3
#define HEADER_BYTES 10

static void compress_to(struct sink *s, const void *data, size_t n, size_t piece, int level)
{
	struct gzip g = { 0 };
	const char *p = data;
	int r = gzip_open(&g, sink_write, s, level);
	for (size_t i = 0; i < n && r == 0; i += piece)
		r = gzip_write(&g, p + i, n - i < piece ? n - i : piece);
	if (r == 0)
		r = gzip_finish(&g);
	tap_int(r, 0, "data is compressed");
	gzip_close(&g);
}

static bool restores(const struct sink *s, const void *data, size_t n)
{
	unsigned char *back = NULL;
	size_t n_back = 0;
	int r = gzip_inflate(s->bytes.v, s->bytes.n, n, &back, &n_back, NULL);
	bool same = r == 0 && n_back == n && memcmp(back, data, n) == 0;
	free(back);
	return same;
}

/* Little and much data take different ways in a build with libdeflate. */
static void try_sizes(void)
{
	const size_t mib = (size_t)1 << 20, n_max = 20 * mib;
	char *data = malloc(n_max);
	for (size_t i = 0; i < n_max; i++)
		data[i] = (char)(i * i >> 7);
	const size_t sizes[] = { 0, 1, 8 * mib - 1, 8 * mib, 8 * mib + 1, n_max };
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		struct sink s = { 0 };
		compress_to(&s, data, sizes[i], 65537, 1);
		tap_ok(restores(&s, data, sizes[i]), "%zu bytes are restored", sizes[i]);
		VEC_FREE(&s.bytes);
	}
	free(data);
}

/* What the trailer says of the size, and what a header may have. */
static void try_headers(const void *data, size_t n)
{
	struct sink s = { 0 };
	struct err e = { 0 };
	unsigned char *back = NULL;
	size_t n_back = 0;
	compress_to(&s, data, n, n, 6);
	for (int high = 0; high < 2; high++) {
		unsigned char *size = s.bytes.v + s.bytes.n - (high ? 1 : 4);
		*size ^= 0xf0;
		e = (struct err){ 0 };
		tap_int(gzip_inflate(s.bytes.v, s.bytes.n, n, &back, &n_back, &e), -EINVAL,
			"a wrong size in the trailer is an error");
		tap_ok(strstr(e.what, "incorrect length check"), "zlib's words: %s", e.what);
		*size ^= 0xf0;
	}
	struct sink named = { 0 };
	sink_write(&named, s.bytes.v, HEADER_BYTES);
	named.bytes.v[FLAGS_AT] = 8;
	sink_write(&named, "name", 5);
	sink_write(&named, s.bytes.v + HEADER_BYTES, s.bytes.n - HEADER_BYTES);
	tap_ok(restores(&named, data, n), "a file with its name is read");
	VEC_FREE(&named.bytes);
	sink_write(&named, s.bytes.v, HEADER_BYTES);
	named.bytes.v[FLAGS_AT] = 2;
	sink_write(&named, "??", 2);
	sink_write(&named, s.bytes.v + HEADER_BYTES, s.bytes.n - HEADER_BYTES);
	tap_int(gzip_inflate(named.bytes.v, named.bytes.n, n, &back, &n_back, &e), -EINVAL,
		"a wrong checksum of the header is an error");
	VEC_FREE(&named.bytes);
	VEC_FREE(&s.bytes);
}

int main(void)
{
	size_t n = 1000000;
	unsigned char *data = malloc(n), *back = NULL;
	uint32_t x = 1;
	for (size_t i = 0; i < n; i++) {
		x = x * 1664525 + 1013904223;
		data[i] = i % 3 ? (unsigned char)(x >> 24) : 'a';
	}
	struct err e = { 0 };
	size_t n_back = 0;
	for (int level = 0; level <= 9; level += 3) {
		struct sink s = { 0 };
		compress_to(&s, data, n, 4099, level);
		int r = gzip_inflate(s.bytes.v, s.bytes.n, n, &back, &n_back, &e);
		tap_ok(r == 0 && n_back == n && memcmp(back, data, n) == 0,
		       "level %d: data is restored, with its exact size as the limit", level);
		free(back);
		back = NULL;
		VEC_FREE(&s.bytes);
	}

	struct sink s = { 0 };
	compress_to(&s, data, 1000, 1000, 6);
	tap_ok(gzip_is(s.bytes.v, s.bytes.n), "the output is recognised as gzip");
	tap_ok(!gzip_is("\x1f", 1) && !gzip_is("abc", 3), "other data is not");
	tap_int(gzip_inflate(s.bytes.v, s.bytes.n, 999, &back, &n_back, &e), -E2BIG,
		"one byte more than the limit is refused");
	size_t n_one = s.bytes.n;
	compress_to(&s, data + 1000, 500, 500, 6);
	tap_ok(gzip_inflate(s.bytes.v, s.bytes.n, n, &back, &n_back, &e) == 0 && n_back == 1500 &&
	       memcmp(back, data, 1500) == 0, "two members are one after the other");
	free(back);
	back = NULL;
	int n_wrong = 0;
	for (size_t cut = 0; cut < n_one; cut++) {
		if (gzip_inflate(s.bytes.v, cut, n, &back, &n_back, &e) == -EINVAL)
			continue;
		n_wrong++;
		free(back);
		back = NULL;
	}
	tap_int(n_wrong, 0, "data truncated at any byte is an error");
	s.bytes.v[n_one - 6] ^= 1;
	tap_int(gzip_inflate(s.bytes.v, n_one, n, &back, &n_back, &e), -EINVAL,
		"a wrong checksum is an error");
	s.bytes.v[n_one - 6] ^= 1;
	s.bytes.v[n_one] = 'x';
	tap_int(gzip_inflate(s.bytes.v, s.bytes.n, n, &back, &n_back, &e), -EINVAL,
		"garbage after the end is an error");
	tap_ok(back == NULL, "a failure does not set the output");
	VEC_FREE(&s.bytes);
	try_headers(data, 100000);
	try_sizes();

	/* A decompression bomb: many zeros in few bytes. */
	memset(data, 0, n);
	compress_to(&s, data, n, n, 9);
	tap_int(gzip_inflate(s.bytes.v, s.bytes.n, 100000, &back, &n_back, &e), -E2BIG,
		"a decompression bomb stops at the limit");
	VEC_FREE(&s.bytes);

	struct gzip g = { 0 };
	s = (struct sink){ .fail_after = 1 };
	gzip_open(&g, sink_write, &s, 0);
	int r = gzip_write(&g, data, n);
	tap_int(r < 0 ? r : gzip_finish(&g), -ENOSPC, "a failed write is reported");
	gzip_close(&g);
	VEC_FREE(&s.bytes);
	free(data);
	return tap_done();
}
