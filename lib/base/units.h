#ifndef CPROF_BASE_UNITS_H
#define CPROF_BASE_UNITS_H

/*
 * Numbers with units, as users write and read them.  A parser consumes the whole string and returns
 * 0, -EINVAL (not such a number) or -ERANGE (too large).
 */

#include <stddef.h>
#include <stdint.h>

/* "1.5" and "1.5s" seconds, "250ms", "20us", "5ns", "2m", "1h". */
int units_parse_duration(const char *text, uint64_t *ret_ns);

/* "4096" bytes, "64K", "256M", "1G", also "64KiB", "64kb"; powers of 1024. */
int units_parse_size(const char *text, uint64_t *ret_bytes);

/* A plain decimal or 0x number. */
int units_parse_u64(const char *text, uint64_t *ret_value);

/* Writes "12.3 KiB" or "1.50 s", at most 15 characters and a NUL, to buf and returns buf. */
#define UNITS_TEXT_MAX 16
const char *units_size_text(uint64_t n_bytes, char buf[UNITS_TEXT_MAX]);
const char *units_duration_text(uint64_t ns, char buf[UNITS_TEXT_MAX]);

/* The same with two digits, and in minutes and hours, for what is known only roughly. */
const char *units_estimate_text(uint64_t ns, char buf[UNITS_TEXT_MAX]);

/* The ending of a regular plural, for "%u thread%s"; and of two words the one that fits: "is",
 * "are".  tests/lint/words.py requires them. */
static inline const char *units_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static inline const char *units_word(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* The length of the first word of "samples lost" as it is for n of them: "sample" for one. */
int units_first_word(uint64_t n, const char *words);

#endif
