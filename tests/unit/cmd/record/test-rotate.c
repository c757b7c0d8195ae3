#include "cmd/record/rotate.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

static void parses(const char *text, enum rotate_kind kind, uint64_t limit)
{
	struct rotate_spec s = { 0 };
	tap_int(rotate_parse(text, &s), 0, text);
	tap_ok(s.kind == kind && s.limit == limit, "... has kind and limit");
}

static void refuses(const char *text, int code)
{
	struct rotate_spec s = { ROTATE_SIZE, 7 };
	tap_int(rotate_parse(text, &s), code, text);
	tap_ok(s.kind == ROTATE_SIZE && s.limit == 7, "... and the result is unchanged");
}

int main(void)
{
	parses("signal", ROTATE_SIGNAL, 0);
	parses("1B", ROTATE_SIZE, 1);
	parses("100K", ROTATE_SIZE, 102400);
	parses("10M", ROTATE_SIZE, 10 << 20);
	parses("2G", ROTATE_SIZE, UINT64_C(2) << 30);
	parses("250ms", ROTATE_TIME, 250000000);
	parses("30s", ROTATE_TIME, UINT64_C(30000000000));
	parses("10m", ROTATE_TIME, UINT64_C(600000000000));
	parses("1h", ROTATE_TIME, UINT64_C(3600000000000));
	parses("2d", ROTATE_TIME, UINT64_C(172800000000000));
	refuses("", -EINVAL);
	refuses("0s", -EINVAL);
	refuses("10", -EINVAL);
	refuses("s", -EINVAL);
	refuses("10S", -EINVAL);
	refuses("1.5s", -EINVAL);
	refuses("-1s", -EINVAL);
	refuses("10s ", -EINVAL);
	refuses("signals", -EINVAL);
	refuses("99999999999999999999s", -ERANGE);
	refuses("18446744073709551615G", -ERANGE);
	refuses("10000000d", -ERANGE);

	struct rotate_spec time = { ROTATE_TIME, 1000000000 }, size = { ROTATE_SIZE, 100 };
	struct rotate_spec signal = { ROTATE_SIGNAL, 0 };
	struct rotate_clock c = { 5000000000, 1000 };
	tap_ok(!rotate_is_due(&time, &c, 5999999999, 1000000), "before the time");
	tap_ok(rotate_is_due(&time, &c, 6000000000, 1000), "at the time");
	tap_ok(!rotate_is_due(&size, &c, 99000000000, 1099), "before the size");
	tap_ok(rotate_is_due(&size, &c, 5000000000, 1100), "at the size");
	tap_ok(!rotate_is_due(&signal, &c, 99000000000, 99000), "ROTATE_SIGNAL: never");
	tap_int(rotate_wait_ms(&time, &c, 5950000000, 100), 50, "waits until the time is up");
	tap_int(rotate_wait_ms(&time, &c, 5950000001, 100), 50, "... rounded up");
	tap_int(rotate_wait_ms(&time, &c, 5000000000, 100), 100, "... but at most the maximum");
	tap_int(rotate_wait_ms(&time, &c, 7000000000, 100), 0, "overdue");
	tap_int(rotate_wait_ms(&size, &c, 7000000000, 100), 100, "a size: waits the maximum");

	char text[ROTATE_STAMP_MAX];
	uint64_t last = 0;
	setenv("TZ", "UTC", 1);
	tzset();
	rotate_stamp(1767270645120000000, &last, text);
	tap_str(text, "2026010112304512", "year, month, day, hour, minute, second, hundredths");
	rotate_stamp(1767270645129999999, &last, text);
	tap_str(text, "2026010112304513", "in the same hundredth: one more");
	rotate_stamp(1767270640000000000, &last, text);
	tap_str(text, "2026010112304514", "the clock was set back: still one more");
	rotate_stamp(1767270645150000000, &last, text);
	tap_str(text, "2026010112304515", "the clock has caught up");
	return tap_done();
}
