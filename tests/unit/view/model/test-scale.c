#include "tap.h"
#include "view/model/scale.h"

static void text(int64_t min, int64_t max, const char *unit, int64_t value, const char *want)
{
	char buf[SCALE_TEXT_MAX], name[120];
	snprintf(name, sizeof(name), "%lld %s between %lld and %lld is %s", (long long)value, unit,
		 (long long)min, (long long)max, want);
	tap_str(scale_text(scale_choose(min, max, unit), value, buf), want, name);
}

static void percent(int64_t value, int64_t total, const char *want)
{
	char buf[SCALE_TEXT_MAX], name[80];
	snprintf(name, sizeof(name), "%lld of %lld", (long long)value, (long long)total);
	tap_str(scale_percent(value, total, buf), want, name);
}

int main(void)
{
	text(7000000, 1487000000, "nanoseconds", 1487000000, "1487ms");
	text(10000000, 2000000000, "nanoseconds", 1500000000, "1.50s");
	text(10000000, 2000000000, "nanoseconds", 10000000, "0.01s");
	text(999, 999, "nanoseconds", 999, "999ns");
	text(1000, 1000, "ns", 1000, "1us");
	text(0, 0, "nanoseconds", 0, "0");
	text(0, 5000000000, "nanoseconds", 5000000000, "5s");
	text(3600, 7200, "seconds", 5400, "1.50hrs");
	text(1, 2, "Milliseconds", 2, "2ms");
	text(2048, 2048, "bytes", 2048, "2kB");
	text(1, 3, "kilobytes", 3, "3kB");
	text(1, 1000000, "count", 123456, "123456");
	text(1, 1000000, "faults", -17, "-17");
	text(-5000, -5000, "ns", -5000, "-5us");
	text(INT64_MIN, INT64_MAX, "count", INT64_MIN, "-9223372036854775808");
	percent(1, 4, "25.00%");
	percent(0, 4, "0%");
	percent(1, 2000, "0.05%");
	percent(9996, 10000, "100%");
	percent(9994, 10000, "99.94%");
	percent(5, 0, "0%");
	percent(-1, 4, "25.00%");
	tap_str(scale_unit_name(5), "B", "units of memory follow those of time");
	tap_ok(!scale_unit_name(11), "there are no further units");
	return tap_done();
}
