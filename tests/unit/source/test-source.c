#include "base/err.h"
#include "source/record.h"
#include "source/source-ring.h"
#include "source/source.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <unistd.h>

static bool is_closed;

static int end_at_once(struct source *s, struct record *ret_record, struct err *e)
{
	(void)s;
	(void)ret_record;
	(void)e;
	return SOURCE_END;
}

static void note_close(struct source *s)
{
	(void)s;
	is_closed = true;
}

static const struct source_ops least = { .next = end_at_once, .close = note_close };

static void test_missing(struct source *s)
{
	struct err e = { 0 };
	struct source_count count = { .value = 1, .has_lost = true };
	struct source_usage usage = { .n_fds = 1 };
	tap_int(source_enable(s, &e), 0, "a source without enable runs already");
	source_disable(s);
	tap_int(source_pause(s, SOURCE_ALL_EVENTS, &e), -EOPNOTSUPP, "pause is not supported");
	tap_ok(e.code == -EOPNOTSUPP && e.what[0], "and the message says so");
	tap_int(source_resume(s, 0, &e), -EOPNOTSUPP, "nor is resume");
	tap_int(source_set_rate(s, 0, 99, &e), -EOPNOTSUPP, "nor another rate");
	tap_int(source_set_stack(s, 0, 8192, &e), -EOPNOTSUPP, "nor another size of stack copies");
	tap_int(source_set_user_chain(s, &e), -EOPNOTSUPP, "nor chains beside them");
	source_count(s, 0, &count);
	tap_ok(!count.value && !count.has_lost, "missing counters are zero");
	source_usage(s, &usage);
	tap_int(usage.n_fds, 0, "and so is the usage");
	tap_int((long long)source_n_places(s, 0), 1, "each event is in one place");
	tap_ok(!source_attr(s, 0), "no event is a perf event");
	tap_int((long long)source_sample_cost(s, 0), 0, "the cost of a sample is unknown");
	tap_int(source_poll_fd(s, 0), -1, "there is no descriptor to poll");
	source_limit(s, 5);
}

static void test_wait(struct source *s)
{
	int fds[2];
	bool ready[1] = { true };
	tap_int(source_wait(s, 0, NULL, 0, NULL), 0, "a wait for nothing times out");
	if (pipe(fds) < 0)
		return;
	tap_ok(source_wait(s, 0, fds, 1, ready) == 0 && !ready[0], "an empty pipe is not ready");
	tap_ok(write(fds[1], "x", 1) == 1 && source_wait(s, -1, fds, 1, ready) == 0 && ready[0],
	       "a pipe with data is, and ends the wait");
	close(fds[0]);
	close(fds[1]);
}

int main(void)
{
	struct source s = { .ops = &least };
	struct record r;
	struct err e;
	test_missing(&s);
	test_wait(&s);
	tap_int(source_next(&s, &r, &e), SOURCE_END, "records come from the source's own next");
	source_close(NULL);
	tap_ok(!is_closed, "closing a NULL source does nothing");
	source_close(&s);
	tap_ok(is_closed, "a source is closed by its own operation");
	return tap_done();
}
