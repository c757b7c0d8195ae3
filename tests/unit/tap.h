#ifndef CPROF_TESTS_UNIT_TAP_H
#define CPROF_TESTS_UNIT_TAP_H

/*
 * The Test Anything Protocol in as few words as possible: a test program calls
 * tap_ok and friends and ends with `return tap_done();`.
 */

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_n, tap_n_failed;

static inline bool __attribute__((format(printf, 2, 3), unused))
tap_ok(bool ok, const char *fmt, ...)
{
	va_list ap;
	printf("%sok %d - ", ok ? "" : "not ", ++tap_n);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	tap_n_failed += !ok;
	return ok;
}

static inline bool __attribute__((unused))
tap_str(const char *got, const char *want, const char *name)
{
	bool ok = got && want ? strcmp(got, want) == 0 : got == want;
	tap_ok(ok, "%s", name);
	if (!ok)
		printf("#  got '%s'\n# want '%s'\n", got ? got : "(null)", want ? want : "(null)");
	return ok;
}

static inline bool __attribute__((unused))
tap_int(long long got, long long want, const char *name)
{
	bool ok = got == want;
	tap_ok(ok, "%s", name);
	if (!ok)
		printf("#  got %lld\n# want %lld\n", got, want);
	return ok;
}

/* One assertion that cannot be made here, with the reason. */
static inline void __attribute__((unused)) tap_skip(const char *name, const char *why)
{
	printf("ok %d - %s # SKIP %s\n", ++tap_n, name, why);
}

static inline int __attribute__((unused)) tap_done(void)
{
	printf("1..%d\n", tap_n);
	return tap_n_failed ? 1 : 0;
}

#endif
