/*
 * Accepts the values, and makes the stamps, of perf record --switch-output.
 */
#include "cmd/record/rotate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static const struct {
	const char *text;
	enum rotate_kind kind;
	uint64_t factor;
} units[] = {
	{ "B", ROTATE_SIZE, 1 }, { "K", ROTATE_SIZE, 1 << 10 }, { "M", ROTATE_SIZE, 1 << 20 },
	{ "G", ROTATE_SIZE, 1 << 30 },
	{ "ms", ROTATE_TIME, 1000000 }, { "s", ROTATE_TIME, 1000000000 },
	{ "m", ROTATE_TIME, UINT64_C(60000000000) },
	{ "h", ROTATE_TIME, UINT64_C(3600000000000) },
	{ "d", ROTATE_TIME, UINT64_C(86400000000000) },
};

int rotate_parse(const char *text, struct rotate_spec *ret)
{
	uint64_t n = 0;
	const char *p = text;
	if (strcmp(text, "signal") == 0) {
		*ret = (struct rotate_spec){ ROTATE_SIGNAL, 0 };
		return 0;
	}
	for (; *p >= '0' && *p <= '9'; p++)
		if (__builtin_mul_overflow(n, 10, &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*p - '0'), &n))
			return -ERANGE;
	if (p == text || n == 0)
		return -EINVAL;
	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (strcmp(p, units[i].text) != 0)
			continue;
		if (__builtin_mul_overflow(n, units[i].factor, &n) || n > INT64_MAX)
			return -ERANGE;
		*ret = (struct rotate_spec){ units[i].kind, n };
		return 0;
	}
	return -EINVAL;
}

bool rotate_is_due(const struct rotate_spec *s, const struct rotate_clock *c, uint64_t now_ns,
		   uint64_t now_bytes)
{
	if (s->kind == ROTATE_TIME)
		return now_ns - c->since_ns >= s->limit;
	return s->kind == ROTATE_SIZE && now_bytes - c->since_bytes >= s->limit;
}

int rotate_wait_ms(const struct rotate_spec *s, const struct rotate_clock *c, uint64_t now_ns,
		   int max_ms)
{
	if (s->kind != ROTATE_TIME)
		return max_ms;
	uint64_t gone = now_ns - c->since_ns;
	uint64_t left_ms = gone < s->limit ? (s->limit - gone + 999999) / 1000000 : 0;
	return left_ms < (uint64_t)max_ms ? (int)left_ms : max_ms;
}

void rotate_stamp(int64_t realtime_ns, uint64_t *last, char ret[ROTATE_STAMP_MAX])
{
	struct tm tm;
	time_t s = (time_t)(realtime_ns / 1000000000);
	localtime_r(&s, &tm);
	uint64_t stamp = (uint64_t)(tm.tm_year + 1900);
	stamp = stamp * 100 + (uint64_t)(tm.tm_mon + 1);
	stamp = stamp * 100 + (uint64_t)tm.tm_mday;
	stamp = stamp * 100 + (uint64_t)tm.tm_hour;
	stamp = stamp * 100 + (uint64_t)tm.tm_min;
	stamp = stamp * 100 + (uint64_t)tm.tm_sec;
	stamp = stamp * 100 + (uint64_t)(realtime_ns % 1000000000 / 10000000);
	/* Stamps must differ even within a hundredth of a second, or when the clock is set back. */
	if (stamp <= *last)
		stamp = *last + 1;
	*last = stamp;
	snprintf(ret, ROTATE_STAMP_MAX, "%016" PRIu64, stamp);
}
