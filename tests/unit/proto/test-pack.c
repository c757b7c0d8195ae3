#include "base/err.h"
#include "proto/gzip.h"
#include "proto/huffman.h"
#include "sink.h"
#include "tap.h"

/* What pack.c writes is read back by zlib, in gzip's wrapping. */

#define LEVEL 1

static size_t packed_bytes;

/* Does it come back as it was, written in pieces of that size? */
static bool comes_back(const uint8_t *data, size_t n, size_t piece)
{
	struct gzip g = { 0 };
	struct sink s = { 0 };
	struct err e = { 0 };
	uint8_t *back = NULL;
	size_t n_back = 0;
	int r = gzip_open(&g, sink_write, &s, LEVEL);
	for (size_t i = 0; i < n && r == 0; i += piece)
		r = gzip_write(&g, data + i, n - i < piece ? n - i : piece);
	if (r == 0)
		r = gzip_finish(&g);
	gzip_close(&g);
	packed_bytes = s.bytes.n;
	bool same = r == 0 && gzip_inflate(s.bytes.v, s.bytes.n, n + 1, &back, &n_back, &e) == 0 &&
		    n_back == n && (n == 0 || memcmp(back, data, n) == 0);
	free(back);
	VEC_FREE(&s.bytes);
	return same;
}

static uint32_t next_random(uint32_t *x)
{
	*x = *x * 1664525 + 1013904223;
	return *x >> 8;
}

static void fill_random(uint8_t *data, size_t n, uint32_t below)
{
	uint32_t x = 1;
	for (size_t i = 0; i < n; i++)
		data[i] = (uint8_t)(next_random(&x) % below);
}

/* Copies of what stood at most 40 000 bytes before, and some bytes of their own. */
static void fill_repeats(uint8_t *data, size_t n)
{
	uint32_t x = 7;
	for (size_t i = 0; i < n;) {
		size_t far = 1 + next_random(&x) % 40000, length = 1 + next_random(&x) % 600;
		for (; length > 0 && i < n; length--, i++)
			data[i] = far <= i ? data[i - far] : (uint8_t)next_random(&x);
		if (i < n)
			data[i++] = (uint8_t)next_random(&x);
	}
}

/* The second half's bytes are each twice as rare as the one before: the best code is too long. */
static void fill_powers(uint8_t *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		data[i] = i < n / 2 ? (uint8_t)(i * i >> 3)
				    : (uint8_t)__builtin_ctzll((i + 1) | 1ull << 40);
}

static void test_sizes(uint8_t *data)
{
	static const size_t size[] = { 0, 1, 2, 3, 4, 5, 8, 258, 259, 32767, 32768, 32769, 65534,
				       65535, 65536, 98302, 98303, 131070, 131071, 300000 };
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++) {
		bool ok = true;
		for (uint32_t below = 1; below <= 256; below *= 16) {
			fill_random(data, size[i], below);
			ok &= comes_back(data, size[i], 65536) && comes_back(data, size[i], 777);
		}
		fill_repeats(data, size[i]);
		ok &= comes_back(data, size[i], 65536) && comes_back(data, size[i], 1000);
		tap_ok(ok, "%zu bytes come back", size[i]);
	}
}

static void test_small(uint8_t *data)
{
	size_t n = 1000000;
	memset(data, 'a', n);
	tap_ok(comes_back(data, n, n) && packed_bytes < n / 150, "a run becomes short");
	fill_random(data, n, 256);
	tap_ok(comes_back(data, n, n) && packed_bytes < n + n / 1000 + 100,
	       "what cannot be packed stays as it is");
	fill_repeats(data, n);
	tap_ok(comes_back(data, n, 4096) && packed_bytes < n / 4, "repeats are found");
	fill_powers(data, n);
	tap_ok(comes_back(data, n, n), "symbols that are very rare");
	/* matches that are as far away as can be, and one byte more */
	for (size_t far = 32766; far <= 32770; far++) {
		fill_random(data, far, 256);
		for (size_t i = far; i < n; i++)
			data[i] = data[i - far];
		tap_ok(comes_back(data, n, n), "repeats from far away");
		tap_ok((packed_bytes < n / 4) == (far <= 32768), "32768 bytes are not too far");
	}
}

static void test_failure(uint8_t *data)
{
	struct gzip g = { 0 };
	struct sink s = { .fail_after = 1 };
	fill_random(data, 1000000, 256);
	gzip_open(&g, sink_write, &s, LEVEL);
	tap_int(gzip_write(&g, data, 1000000), -ENOSPC, "a failed write is passed on");
	gzip_close(&g);
	VEC_FREE(&s.bytes);
}

/* Is the code complete, and no longer than that? */
static bool is_complete(const uint8_t *bits, size_t n, unsigned max_bits)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < n; i++) {
		if (bits[i] > max_bits)
			return false;
		sum += bits[i] ? 1ull << (max_bits - bits[i]) : 0;
	}
	return sum == 1ull << max_bits;
}

static void test_lengths(void)
{
	uint32_t frequency[HUFFMAN_SYMBOLS_MAX] = { 0 };
	uint8_t bits[HUFFMAN_SYMBOLS_MAX];
	huffman_lengths(frequency, 19, 7, bits);
	tap_ok(is_complete(bits, 19, 7), "of no symbols");
	frequency[5] = 9;
	huffman_lengths(frequency, 19, 7, bits);
	tap_ok(is_complete(bits, 19, 7) && bits[5] == 1, "of one symbol");
	for (unsigned i = 0; i < 31; i++)
		frequency[i] = 1u << (i < 30 ? i : 29);
	huffman_lengths(frequency, 31, 15, bits);
	tap_ok(is_complete(bits, 31, 15) && bits[29] <= 2 && bits[0] == 15, "longest within 15");
	for (unsigned i = 0; i < 19; i++)
		frequency[i] = 1u << i;
	huffman_lengths(frequency, 19, 7, bits);
	tap_ok(is_complete(bits, 19, 7), "longest within 7");
	uint32_t x = 3;
	bool ok = true;
	for (unsigned round = 0; round < 2000; round++) {
		for (unsigned i = 0; i < 286; i++)
			frequency[i] = next_random(&x) >> next_random(&x) % 24;
		huffman_lengths(frequency, 286, 15, bits);
		ok &= is_complete(bits, 286, 15);
		huffman_lengths(frequency, 19, 7, bits);
		ok &= is_complete(bits, 19, 7);
		huffman_lengths(frequency, 286, 9, bits);
		ok &= is_complete(bits, 286, 9);
	}
	tap_ok(ok, "of random frequencies");
}

int main(void)
{
	uint8_t *data = malloc(1000000);
	test_sizes(data);
	test_small(data);
	test_failure(data);
	test_lengths();
	free(data);
	return tap_done();
}
