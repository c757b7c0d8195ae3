#include "cmd/record/trigger.h"
#include "tests/unit/tap.h"

#include <errno.h>

static void parses(const char *text, enum trigger_metric metric, bool above, double limit,
		   uint64_t for_ns)
{
	struct trigger t = { 0 };
	tap_int(trigger_parse(text, &t), 0, text);
	tap_ok(t.metric == metric && t.above == above && t.limit == limit && t.for_ns == for_ns,
	       "... understood");
}

int main(void)
{
	static const char *const wrong[] = {
		"", "cpu", "cpu>", ">80", "cpu=80", "cpu>80%%", "cpu>%", "cpu>x", "cpu>80G",
		"rss>1%", "rss>", "threads>1.x", "load>1", "cpu>80% for", "cpu>80% for x",
		"cpu>80% 5s", "cpu>>80", "cpu>-1", "cpu>1e3", "cpu>1.2.3", "cpu>.",
	};
	char text[32];
	parses("cpu>80%", TRIGGER_CPU, true, 80, 0);
	parses("cpu>80", TRIGGER_CPU, true, 80, 0);
	parses(" cpu < 12.5 % ", TRIGGER_CPU, false, 12.5, 0);
	parses("cpu>250%for5s", TRIGGER_CPU, true, 250, 5000000000);
	parses("rss>1G", TRIGGER_RSS, true, 1073741824, 0);
	parses("rss < 512M for 250ms", TRIGGER_RSS, false, 536870912, 250000000);
	parses("threads>100", TRIGGER_THREADS, true, 100, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct trigger t = { .limit = 7 };
		tap_int(trigger_parse(wrong[i], &t), -EINVAL, wrong[i]);
		tap_ok(t.limit == 7, "... and the result is unchanged");
	}

	struct trigger t;
	trigger_parse("cpu>80%", &t);
	tap_ok(!trigger_feed(&t, 80, 1), "at the limit");
	tap_ok(trigger_feed(&t, 81, 2), "above it");
	tap_ok(!trigger_feed(&t, 99, 3), "once only");
	tap_ok(!trigger_feed(&t, 10, 4), "below");
	tap_ok(trigger_feed(&t, 90, 5), "above it again");
	trigger_parse("rss<1K for 10ns", &t);
	tap_ok(!trigger_feed(&t, 1000, 100), "holds, but not long enough");
	tap_ok(!trigger_feed(&t, 1000, 109), "... still not long enough");
	tap_ok(!trigger_feed(&t, 2000, 110), "interrupted");
	tap_ok(!trigger_feed(&t, 1000, 111), "starts again");
	tap_ok(trigger_feed(&t, 1000, 121), "long enough");
	tap_ok(!trigger_feed(&t, 1000, 999), "once only");
	tap_str(trigger_value_text(&t, 2048, text, sizeof(text)), "2.0 KiB", "a size");
	trigger_parse("cpu>1", &t);
	tap_str(trigger_value_text(&t, 93.4, text, sizeof(text)), "93 %", "percent");
	trigger_parse("threads>1", &t);
	tap_str(trigger_value_text(&t, 12, text, sizeof(text)), "12 threads", "threads");
	return tap_done();
}
