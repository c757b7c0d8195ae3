#include "base/err.h"
#include "proto/gzip.h"
#include "sink.h"
#include "tap.h"

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

	/* A decompression bomb: many zeros in few bytes. */
	memset(data, 0, n);
	compress_to(&s, data, n, n, 9);
	tap_int(gzip_inflate(s.bytes.v, s.bytes.n, 100000, &back, &n_back, &e), -E2BIG,
		"a decompression bomb stops at the limit");
	VEC_FREE(&s.bytes);

	struct gzip g = { 0 };
	s = (struct sink){ .fail_after = 1 };
	gzip_open(&g, sink_write, &s, 0);
	tap_int(gzip_write(&g, data, n), -ENOSPC, "a failed write is reported");
	gzip_close(&g);
	VEC_FREE(&s.bytes);
	free(data);
	return tap_done();
}
