/* What deflate.h writes, zlib reads: inputs of all kinds and sizes, in pieces of all sizes. */

#include "base/err.h"
#include "proto/gzip.h"
#include "sink.h"
#include "tap.h"

#include <stdlib.h>
#include <string.h>

#define N_MAX 400000u

static uint32_t seed = 1;

static uint32_t any(uint32_t n)
{
	seed = seed * 1664525 + 1013904223;
	return (uint32_t)((uint64_t)(seed >> 4) * n >> 28);
}

static size_t restored(const unsigned char *data, size_t n, uint32_t piece_max)
{
	struct sink s = { 0 };
	struct gzip g = { 0 };
	struct err e = { 0 };
	unsigned char *back = NULL;
	size_t n_back = 0, n_packed;
	int r = gzip_open(&g, sink_write, &s, GZIP_FAST);
	for (size_t i = 0, piece; i < n && r == 0; i += piece) {
		piece = 1 + any(piece_max);
		piece = n - i < piece ? n - i : piece;
		r = gzip_write(&g, data + i, piece);
	}
	if (r == 0)
		r = gzip_finish(&g);
	gzip_close(&g);
	n_packed = s.bytes.n;
	if (r == 0)
		r = gzip_inflate(s.bytes.v, n_packed, n ? n : 1, &back, &n_back, &e);
	bool same = r == 0 && n_back == n && (n == 0 || memcmp(back, data, n) == 0);
	free(back);
	VEC_FREE(&s.bytes);
	return same ? n_packed : 0;
}

/* ---- kinds of data ---------------------------------------------------------------- */

static void fill_random(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (unsigned char)any(256);
}

static void fill_equal(unsigned char *p, size_t n)
{
	memset(p, 'x', n);
}

/* As samples of a profile: neighbours end alike. */
static void fill_stacks(unsigned char *p, size_t n)
{
	unsigned char stack[64];
	fill_random(stack, sizeof(stack));
	for (size_t i = 0; i < n;) {
		size_t from = any(sizeof(stack)), left = n - i, k = sizeof(stack) - from / 2;
		fill_random(stack, from / 2);
		memcpy(p + i, stack, k < left ? k : left);
		i += k < left ? k : left;
	}
}

/* Matches of all lengths and distances, up to the window and beyond. */
static void fill_copies(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n;) {
		size_t length = 1 + any(any(8) ? 20 : 700), back = 1 + any(40000);
		for (size_t k = 0; k < length && i < n; k++, i++)
			p[i] = i >= back && length > 3 ? p[i - back] : (unsigned char)any(256);
	}
}

/* Few values, very unequally often: codes of the greatest length. */
static void fill_skewed(unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned k = 0;
		while (k < 40 && any(2))
			k++;
		p[i] = (unsigned char)(k * 7);
	}
}

static const struct {
	const char *name;
	void (*fill)(unsigned char *p, size_t n);
	unsigned percent;              /* that 400,000 bytes of it become at most */
} kinds[] = {
	{ "random bytes", fill_random, 101 }, { "equal bytes", fill_equal, 1 },
	{ "stacks", fill_stacks, 50 }, { "copies", fill_copies, 60 },
	{ "skewed bytes", fill_skewed, 35 },
};

static void check_kinds(unsigned char *data)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		int n_wrong = 0;
		for (int k = 0; k < 60; k++) {
			size_t n = k < 20 ? (size_t)k : 1 + any(any(4) ? 3000 : N_MAX);
			kinds[i].fill(data, n);
			n_wrong += !restored(data, n, any(4) ? 70000 : 50);
		}
		tap_ok(n_wrong == 0, "%s are restored, of any size and in any pieces",
		       kinds[i].name);
		kinds[i].fill(data, N_MAX);
		size_t packed = restored(data, N_MAX, N_MAX);
		tap_ok(packed && packed <= (size_t)N_MAX / 100 * kinds[i].percent,
		       "%s become at most %u %% (%zu bytes)", kinds[i].name, kinds[i].percent,
		       packed);
	}
}

/* ---- failures ----------------------------------------------------------------------- */

static void check_failures(unsigned char *data)
{
	fill_random(data, N_MAX);
	int n_reported = 0;
	for (size_t after = 1; after < N_MAX; after += 70001) {
		struct sink s = { .fail_after = after };
		struct gzip g = { 0 };
		int r = gzip_open(&g, sink_write, &s, GZIP_FAST);
		if (r == 0)
			r = gzip_write(&g, data, N_MAX);
		if (r == 0)
			r = gzip_finish(&g);
		n_reported += r == -ENOSPC;
		gzip_close(&g);
		VEC_FREE(&s.bytes);
	}
	tap_int(n_reported, 6, "a full disk is reported, wherever it happens");
}

int main(void)
{
	unsigned char *data = malloc(N_MAX);
	if (!data)
		return 1;
	check_kinds(data);
	check_failures(data);
	free(data);
	return tap_done();
}
