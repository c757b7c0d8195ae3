/* Fewer samples and locations. */
#include "tests/unit/tap.h"

#include "profile/lessdetail.h"
#include "profile/names.h"

#include <stdlib.h>

#define N 1000

static uint64_t n_samples[N];
static uint32_t entry[N];
static bool is_folded[N];

/* The samples of the first `limit` entries, as they are written. */
static uint64_t written_below(uint32_t limit)
{
	uint64_t sum = 0;
	bool counts = false;
	for (uint32_t i = 0; i < N; i++) {
		if (!is_folded[i])
			counts = entry[i] < limit;
		sum += counts ? n_samples[entry[i]] : 0;
	}
	return sum;
}

static void test_thin(uint64_t seed, double keep)
{
	uint64_t all = 0, kept = 0;
	size_t n_entries = 0;
	for (uint32_t i = 0; i < N; i++) {
		n_samples[i] = i % 10 == 3 ? 40 : 1;
		entry[i] = i;
		all += n_samples[i];
	}
	uint64_t n = lessdetail_thin(entry, N, n_samples, keep, seed, is_folded);
	bool seen[N] = { false };
	for (uint32_t i = 0; i < N; i++) {
		seen[entry[i]] = true;
		n_entries += !is_folded[i];
		kept += is_folded[i] ? 0 : n_samples[entry[i]];
	}
	bool is_whole = true;
	for (uint32_t i = 0; i < N; i++)
		is_whole &= seen[i];
	tap_ok(is_whole && written_below(N) == all, "seed %d: no entry is lost, and none twice",
	       (int)seed);
	tap_int((long long)n, (long long)(all - kept), "the folded samples are counted");
	/* Large entries are always chosen. */
	double want = 100 + keep * 900;
	tap_ok((double)n_entries > 0.8 * want && (double)n_entries < 1.2 * want,
	       "%zu entries are chosen, of %d", n_entries, N);
	double part = (double)written_below(400), exact = 0.4 * (double)all;
	tap_ok(part > exact - 2 / keep - 40 && part < exact + 2 / keep + 40,
	       "neighbours keep their share: %.0f of %.0f", part, exact);
}

static void test_few(void)
{
	for (uint32_t i = 0; i < 3; i++) {
		n_samples[i] = 1;
		entry[i] = i;
	}
	uint64_t n = lessdetail_thin(entry, 3, n_samples, 0.001, 7, is_folded);
	tap_ok(n == 2 && !is_folded[0] && is_folded[1] && is_folded[2],
	       "of few samples, one is left");
	tap_int((long long)lessdetail_thin(entry, 0, n_samples, 0.5, 7, is_folded), 0,
		"no entries");
}

static void add_frame(struct names *names, uint32_t mapping, uint32_t function, uint32_t line)
{
	struct names_frame f = { .mapping = mapping, .first_line = (uint32_t)names->lines.n };
	if (function != UINT32_MAX) {
		struct symline l = { .line = line };
		f.n_lines = 1;
		if (!VEC_PUSH(&names->lines, l) || !VEC_PUSH(&names->line_functions, function))
			abort();
	}
	if (!VEC_PUSH(&names->frames, f))
		abort();
}

static void test_fold(void)
{
	struct names names = { 0 };
	/* Two functions of one name: mangled ones differ. */
	const struct names_function f[] = { { .name = 1, .linkage = 2 }, { .name = 3 },
					    { .name = 1, .linkage = 4 } };
	for (size_t i = 0; i < 3; i++)
		if (!VEC_PUSH(&names.functions, f[i]))
			abort();
	add_frame(&names, 0, 0, 0);
	add_frame(&names, 0, 1, 0);
	add_frame(&names, 0, 0, 0);
	add_frame(&names, 1, 0, 0);
	add_frame(&names, 0, UINT32_MAX, 0);
	add_frame(&names, 0, UINT32_MAX, 0);
	add_frame(&names, 0, 2, 0);
	add_frame(&names, 0, 0, 7);
	uint32_t frame[] = { 2, 1, 0, 3, 4, 5, 6, 7 }, location[8] = { 0 };
	size_t n = lessdetail_fold(&names, frame, 8, location);
	tap_int((long long)n, 6, "frames of one function get one location");
	tap_ok(location[0] == 1 && location[2] == 1 && location[6] == 1 && frame[0] == 2,
	       "that of the first of them, also if only mangled names differ");
	tap_ok(location[1] == 2 && location[3] == 3 && frame[1] == 1 && frame[2] == 3,
	       "others keep theirs, and so does another file");
	tap_ok(location[4] == 4 && location[5] == 5, "frames without a name are not folded");
	tap_ok(location[7] == 6 && frame[5] == 7, "nor are those of another line");
	VEC_FREE(&names.lines);
	VEC_FREE(&names.line_functions);
	VEC_FREE(&names.functions);
	VEC_FREE(&names.frames);
}

int main(void)
{
	test_thin(1, 0.5);
	test_thin(2, 0.25);
	test_thin(3, 0.07);
	test_few();
	test_fold();
	return tap_done();
}
