#include "base/units.h"

#include "tap.h"

#include <errno.h>

#define UNTOUCHED 12345u

typedef int parse_fn(const char *text, uint64_t *ret);

struct example {
	const char *text;
	uint64_t want;
	int code;
};

static void check(const char *what, parse_fn *parse, const struct example *x, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t got = UNTOUCHED;
		int code = parse(x[i].text, &got);
		uint64_t want = x[i].code ? UNTOUCHED : x[i].want;
		if (!tap_ok(code == x[i].code && got == want, "%s '%s'", what, x[i].text))
			printf("# got %d, %llu\n", code, (unsigned long long)got);
	}
}

#define CHECK(what, parse, table) check(what, parse, table, sizeof(table) / sizeof(*table))

static const struct example durations[] = {
	{ "1", 1000000000, 0 },
	{ "1s", 1000000000, 0 },
	{ "1.5", 1500000000, 0 },
	{ "0", 0, 0 },
	{ "0.0", 0, 0 },
	{ ".5s", 500000000, 0 },
	{ "5.", 5000000000, 0 },
	{ "250ms", 250000000, 0 },
	{ "20us", 20000, 0 },
	{ "5ns", 5, 0 },
	{ "0.5ns", 1, 0 },
	{ "2m", 120000000000, 0 },
	{ "2min", 120000000000, 0 },
	{ "1h", 3600000000000, 0 },
	{ "0.1", 100000000, 0 },
	{ "1.234567891", 1234567891, 0 },
	{ "9e18", 0, -EINVAL },
	{ "", 0, -EINVAL },
	{ ".", 0, -EINVAL },
	{ "s", 0, -EINVAL },
	{ "-1", 0, -EINVAL },
	{ "+1", 0, -EINVAL },
	{ " 1", 0, -EINVAL },
	{ "1 s", 0, -EINVAL },
	{ "1s ", 0, -EINVAL },
	{ "1d", 0, -EINVAL },
	{ "inf", 0, -EINVAL },
	{ "nan", 0, -EINVAL },
	{ "0x10", 0, -EINVAL },
	{ "1..5", 0, -EINVAL },
	{ "1S", 0, -EINVAL },
	{ "1e3", 0, -EINVAL },
	{ "99999999999999", 0, -ERANGE },
	{ "3000000000", 3000000000000000000, 0 },
	{ "9999999999999999999999999999999999999999999999999999999999999999", 0, -ERANGE },
};

static const struct example sizes[] = {
	{ "0", 0, 0 }, { "4096", 4096, 0 }, { "64K", 65536, 0 }, { "64k", 65536, 0 },
	{ "64KiB", 65536, 0 }, { "64kb", 65536, 0 }, { "64KB", 65536, 0 }, { "256M", 268435456, 0 },
	{ "1G", 1073741824, 0 }, { "2T", 2199023255552, 0 }, { "1.5M", 1572864, 0 },
	{ "12B", 12, 0 }, { "12b", 12, 0 },
	{ "", 0, -EINVAL }, { "K", 0, -EINVAL }, { "1KK", 0, -EINVAL }, { "1iB", 0, -EINVAL },
	{ "1Ki", 0, -EINVAL }, { "1 K", 0, -EINVAL }, { "-1K", 0, -EINVAL }, { "1X", 0, -EINVAL },
	{ "10000000T", 0, -ERANGE }, { "8388607T", 9223370937343148032u, -ERANGE },
	{ "99999999999999999999", 0, -ERANGE },
};

static const struct example numbers[] = {
	{ "0", 0, 0 }, { "42", 42, 0 }, { "0x1c2", 450, 0 }, { "0XFF", 255, 0 }, { "007", 7, 0 },
	{ "18446744073709551615", UINT64_MAX, 0 }, { "0xffffffffffffffff", UINT64_MAX, 0 },
	{ "18446744073709551616", 0, -ERANGE }, { "0x10000000000000000", 0, -ERANGE },
	{ "", 0, -EINVAL }, { "-1", 0, -EINVAL }, { "+1", 0, -EINVAL }, { " 1", 0, -EINVAL },
	{ "1 ", 0, -EINVAL }, { "1k", 0, -EINVAL }, { "0x", 0, -EINVAL }, { "0xg", 0, -EINVAL },
	{ "x1", 0, -EINVAL }, { "1.0", 0, -EINVAL },
};

static void test_texts(void)
{
	static const struct { uint64_t n; const char *want; } size[] = {
		{ 0, "0 B" }, { 1, "1 B" }, { 1023, "1023 B" }, { 1024, "1.0 KiB" },
		{ 1536, "1.5 KiB" }, { 1048575, "1.0 MiB" }, { 1 << 20, "1.0 MiB" },
		{ UINT64_C(1) << 30, "1.0 GiB" }, { UINT64_C(5) << 40, "5.0 TiB" },
		{ UINT64_MAX, "16.0 EiB" },
	}, duration[] = {
		{ 0, "0.0 us" }, { 999, "1.0 us" }, { 1500, "1.5 us" }, { 1000000, "1.0 ms" },
		{ 12345678, "12.3 ms" }, { 1000000000, "1.00 s" }, { 61500000000, "61.50 s" },
	};
	char buf[UNITS_TEXT_MAX];
	for (size_t i = 0; i < sizeof(size) / sizeof(*size); i++)
		tap_str(units_size_text(size[i].n, buf), size[i].want, size[i].want);
	for (size_t i = 0; i < sizeof(duration) / sizeof(*duration); i++)
		tap_str(units_duration_text(duration[i].n, buf), duration[i].want,
			duration[i].want);
	static const struct { uint64_t n; const char *want; } estimate[] = {
		{ 1, "1.0 ns" }, { 1234, "1.2 us" }, { 447000000, "450 ms" },
		{ 1230000000, "1.2 s" }, { 45000000000, "45 s" }, { 112000000000, "110 s" },
		{ 5400000000000, "90 minutes" }, { 7210000000000, "2.0 hours" },
		{ 1728000000000000, "480 hours" },
	};
	for (size_t i = 0; i < sizeof(estimate) / sizeof(*estimate); i++)
		tap_str(units_estimate_text(estimate[i].n, buf), estimate[i].want,
			estimate[i].want);
	tap_ok(strlen(units_estimate_text(UINT64_MAX, buf)) < UNITS_TEXT_MAX,
	       "the longest estimate fits into the buffer");
	tap_ok(strlen(units_duration_text(UINT64_MAX, buf)) < UNITS_TEXT_MAX,
	       "the longest duration fits into the buffer");
	tap_ok(units_size_text(1, buf) == buf && units_duration_text(1, buf) == buf,
	       "the buffer is returned");
}

static void test_plurals(void)
{
	tap_str(units_s(0), "s", "0 samples");
	tap_str(units_s(1), "", "1 sample");
	tap_str(units_s(2), "s", "2 samples");
	tap_str(units_word(1, "is", "are"), "is", "one is");
	tap_str(units_word(0, "is", "are"), "are", "none are");
	tap_ok(units_first_word(1, "samples lost") == 6, "1 sample lost");
	tap_ok(units_first_word(2, "samples lost") == 7, "2 samples lost");
	tap_ok(units_first_word(1, "processes whose") == 7, "1 process whose");
	tap_ok(units_first_word(1, "files") == 4, "1 file");
	tap_ok(units_first_word(1, "of them") == 2 && units_first_word(1, "") == 0, "no plural");
}

int main(void)
{
	CHECK("duration", units_parse_duration, durations);
	CHECK("size", units_parse_size, sizes);
	CHECK("number", units_parse_u64, numbers);
	test_texts();
	test_plurals();
	return tap_done();
}
