#include "base/err.h"
#include "base/host.h"
#include "event/evopen.h"
#include "source/live/livefilter.h"
#include "tests/unit/event/machine.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <linux/perf_event.h>

static struct err e;

static void test_no_namespace(void)
{
	struct machine m;
	struct livefilter f;
	const pid_t pid = getpid();
	const struct live_targets want = { .pid = &pid, .n_pids = 1 };
	const char *why = NULL;
	machine_open(&m);
	tap_ok(!livefilter_open(&f, &want, &m.host, &why), "the pid namespace cannot be read");
	tap_str(why, "the pid namespace is unknown", "  the reason");
	tap_ok(f.filter_fd == -1 && f.prog.ids == -1, "  there is no filter");
	tap_ok(!livefilter_is_full(&f), "  which is not full");
	livefilter_close(&f);
	machine_close(&m);
}

static int open_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr a = { .size = sizeof(a), .type = type, .config = config,
				     .sample_period = 100000000, .disabled = 1,
				     .exclude_kernel = 1, .exclude_hv = 1 };
	return evopen_syscall(&a, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
}

static void test_this_machine(bool follow)
{
	struct host h;
	struct livefilter f;
	const pid_t pid = getpid();
	const struct live_targets want = { .pid = &pid, .n_pids = 1, .tid = &pid, .n_tids = 1,
					      .follow = follow };
	const char *why = NULL;
	if (host_open(&h, NULL, NULL, NULL, &e) < 0)
		exit(1);
	bool is_open = livefilter_open(&f, &want, &h, &why);
	tap_ok(is_open == (f.filter_fd >= 0) && is_open == !why, "a filter, or a reason");
	int fd = is_open ? open_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK) : -1;
	if (fd < 0) {
		tap_skip("a filter on an event", why ? why : "whole CPUs may not be sampled");
	} else {
		tap_ok((f.new_fd >= 0) == follow, "it follows new tasks, or not");
		tap_int((int)filterprog_get_id(f.prog.ids, (uint32_t)pid),
			FILTERPROG_PROCESS | FILTERPROG_THREAD, "the target is known");
		tap_int(livefilter_attach(&f, fd), 0, "a clock can be filtered");
		tap_ok(livefilter_attach(&f, 0) < 0, "what is not an event cannot");
		tap_ok(!livefilter_is_full(&f), "it has room");
		filterprog_set_id(f.prog.ids, 0, FILTERPROG_ALL);
		tap_ok(livefilter_is_full(&f), "until it has none");
		close(fd);
	}
	livefilter_close(&f);
	tap_ok(f.filter_fd == -1 && f.new_fd == -1, "closed");
	host_close(&h);
}

int main(void)
{
	test_no_namespace();
	test_this_machine(true);
	test_this_machine(false);
	return tap_done();
}
