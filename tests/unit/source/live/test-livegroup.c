/*
 * Which events are opened on which CPUs and in which groups: with a perf_event_open(2) that opens a
 * dummy event for every request, and records the requests.  And real groups, whose samples are
 * split.
 */
#include "source/live/live.h"

#include "base/err.h"
#include "base/host.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/record.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "event/machine.h"
#include "tap.h"

struct call {
	struct perf_event_attr attr;
	int cpu, group_fd, fd;
};

static struct call call[256];
static size_t n_calls;
static uint64_t refused_config;   /* EINVAL or refuse_with for events with it */
static int refuse_with;
static bool refuse_in_groups;     /* only as members */

static int noting_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group_fd,
		       unsigned long flags)
{
	bool owner = attr->config == PERF_COUNT_SW_DUMMY && !attr->sample_type;
	if (owner)
		return evopen_syscall(attr, pid, cpu, group_fd, flags);
	if (refuse_with && attr->config == refused_config &&
	    (!refuse_in_groups || group_fd >= 0)) {
		errno = refuse_with;
		return -1;
	}
	struct perf_event_attr dummy = {
		.size = sizeof(dummy), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_IDENTIFIER, .sample_id_all = 1, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1, .use_clockid = attr->use_clockid,
		.clockid = attr->clockid, .inherit = attr->inherit,
	};
	int fd = evopen_syscall(&dummy, pid, cpu, -1, flags);
	if (fd >= 0 && n_calls < 256)
		call[n_calls++] = (struct call){ *attr, cpu, group_fd, fd };
	return fd;
}

static struct err e;

static struct source *open_live(struct machine *m, const char *text, struct evspec_list *l,
				evopen_fn *fn)
{
	const pid_t self = getpid();
	struct source *s = NULL;
	struct live_options o = {
		.attr = { .callgraph = EVATTR_CALLGRAPH_FP, .rate_default_hz = 999,
			  .rate_max_hz = 50000, .only_user = true },
		.open = { .fn = fn, .host = &m->host },
		.scope = LIVE_TASK, .tid = &self, .n_tids = 1, .cgroup_fd = -1,
		.ring_bytes = 65536,
	};
	n_calls = 0;
	if (evparse_list(l, &m->host, text, &e) < 0) {
		tap_ok(false, "%s: %s", text, e.what);
		return NULL;
	}
	o.event = l->v;
	o.n_events = l->n;
	live_open(&o, &s, &e);
	return s;
}

/* "config@cpu" of each call, in order; '+' marks a member of a group, '*' the side band. */
static const char *calls(char out[2000])
{
	size_t n = 0;
	out[0] = '\0';
	for (size_t i = 0; i < n_calls; i++) {
		/* An attempt without config is to find out which field was rejected. */
		if (refuse_with && i && !call[i].attr.config)
			continue;
		n += (size_t)snprintf(out + n, 2000 - n, "%s%llx@%d%s%s", i ? " " : "",
				      (unsigned long long)call[i].attr.config, call[i].cpu,
				      call[i].group_fd >= 0 ? "+" : "",
				      call[i].attr.mmap ? "*" : "");
	}
	return out;
}

static void opens(struct machine *m, const char *text, const char *want)
{
	struct evspec_list l = { NULL, 0, 0, 0 };
	char out[2000];
	e = (struct err){ 0 };
	struct source *s = open_live(m, text, &l, noting_open);
	if (s)
		tap_str(calls(out), want, text);
	else if (strncmp(want, "cannot open", 11) == 0)
		tap_ok(strncmp(e.what, want, strlen(want)) == 0, "%s: %s", text, e.what);
	else
		tap_str(e.what, want, text);
	if (s)
		source_close(s);
	evspec_list_done(&l);
}

static void test_hybrid(void)
{
	struct machine m;
	machine_open(&m);
	machine_file(&m, "sys/devices/system/cpu/online", "0-1\n");
	machine_file(&m, "sys/bus/event_source/devices/cpu_core/type", "4\n");
	machine_file(&m, "sys/bus/event_source/devices/cpu_core/cpus", "0\n");
	machine_file(&m, "sys/bus/event_source/devices/cpu_atom/type", "10\n");
	machine_file(&m, "sys/bus/event_source/devices/cpu_atom/cpus", "1\n");
	opens(&m, "cycles", "a00000000@1* 400000000@0*");
	opens(&m, "r5,cpu-clock", "5@1* 5@0* 0@0 0@1");
	opens(&m, "{cycles,instructions}", "a00000000@1* a00000001@1+ 400000000@0* 400000001@0+");
	refused_config = 0xa00000000;
	refuse_with = ENOENT;
	opens(&m, "cycles,faults", "400000000@0* 2@0 2@1*");
	refused_config = 0x400000000;
	opens(&m, "{cycles,instructions}", "a00000000@1* a00000001@1+");
	machine_file(&m, "sys/bus/event_source/devices/cpu_atom/cpus", "7\n");
	opens(&m, "cycles", "cannot open event 'cycles'");
	refuse_with = 0;
	machine_file(&m, "sys/bus/event_source/devices/cpu_core/cpus", "6\n");
	opens(&m, "cycles", "event 'cycles': none of its CPUs (7) is online");
	machine_close(&m);
}

static void test_groups(void)
{
	struct machine m;
	machine_open(&m);
	machine_file(&m, "sys/devices/system/cpu/online", "0\n");
	opens(&m, "{cycles,instructions,r7}", "0@-1* 1@-1+ 7@-1+");
	tap_ok(call[0].attr.disabled && !call[1].attr.disabled && call[1].attr.freq,
	       "members are enabled with their leader, and sample");
	tap_ok(call[1].group_fd == call[0].fd && call[2].group_fd == call[0].fd,
	       "all have the first as their leader");
	opens(&m, "{cycles,instructions}:S", "0@-1* 1@-1+");
	tap_ok(call[0].attr.read_format & PERF_FORMAT_GROUP &&
	       call[0].attr.sample_type & PERF_SAMPLE_READ, "a leader with S reads all counters");
	tap_ok(!call[1].attr.freq && !call[1].attr.sample_period &&
	       !(call[1].attr.sample_type & (PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN)),
	       "its members only count");
	opens(&m, "{cycles,instructions}:D", "0@-1* 1@-1+");
	tap_ok(call[0].attr.pinned && !call[1].attr.pinned, "the leader is pinned");
	refused_config = 7;
	refuse_with = EINVAL;
	refuse_in_groups = true;
	opens(&m, "{cycles,r7,r8}:W", "0@-1* 7@-1 8@-1+");
	size_t last = 0;
	while (last + 1 < n_calls && call[last].attr.config != 7)
		last++;
	tap_ok(call[last].attr.disabled && call[last].group_fd < 0,
	       "events outside of the group are enabled on their own");
	opens(&m, "{cycles,r7}", "event 'r7' does not fit into its group: Invalid argument");
	refuse_in_groups = false;
	opens(&m, "{cycles,r7}", "cannot open event 'r7'");
	refuse_with = 0;
	machine_close(&m);
}

static void touch_pages(size_t n)
{
	char *p = mmap(NULL, n * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		abort();
	madvise(p, n * 4096, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		((volatile char *)p)[i * 4096] = 1;
	munmap(p, n * 4096);
}

/* The counters of a group add up: its samples have what the counters counted, except after the last
 * sample. */
static void test_sums(void)
{
	struct evspec_list l = { NULL, 0, 0, 0 };
	struct machine m = { .host = { .fd = { -1, -1, -1 } } };
	uint64_t value[2] = { 0, 0 }, n[2] = { 0, 0 };
	struct record r;
	if (host_open(&m.host, NULL, NULL, NULL, &e) < 0)
		return;
	struct source *s = open_live(&m, "{minor-faults/period=100/,page-faults}:S", &l,
				     evopen_syscall);
	if (!s) {
		tap_skip("a group with S", e.what);
		goto out;
	}
	if (source_enable(s, &e) < 0)
		abort();
	touch_pages(10050);
	source_disable(s);
	while (source_next(s, &r, &e) == SOURCE_RECORD) {
		if (r.type != PERF_RECORD_SAMPLE || r.event > 1)
			continue;
		n[r.event]++;
		value[r.event] += r.sample.period;
	}
	struct source_count count[2];
	source_count(s, 0, &count[0]);
	source_count(s, 1, &count[1]);
	tap_ok(n[0] >= 100 && n[0] == count[0].value / 100, "%llu samples of %llu minor faults",
	       (unsigned long long)n[0], (unsigned long long)count[0].value);
	tap_int((long long)n[1], (long long)n[0], "each is a sample of the member, too");
	/* Each sample is taken while the leader counts the fault; the member has not counted it yet
	 * or already. */
	tap_ok(value[1] <= count[1].value && count[1].value - value[1] <= 101,
	       "the member's values add up to its count: %llu of %llu",
	       (unsigned long long)value[1], (unsigned long long)count[1].value);
	tap_ok(count[0].value >= 10050 && count[1].value >= count[0].value,
	       "both counters are read");
	source_close(s);
out:
	evspec_list_done(&l);
	host_close(&m.host);
}

int main(void)
{
	struct perf_event_attr dummy = {
		.size = sizeof(dummy), .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY,
		.exclude_kernel = 1, .exclude_hv = 1, .disabled = 1,
	};
	int fd = evopen_syscall(&dummy, 0, 0, -1, PERF_FLAG_FD_CLOEXEC);
	int second = evopen_syscall(&dummy, 0, 1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		tap_skip("events", "perf_event_open is not allowed here");
		return tap_done();
	}
	close(fd);
	if (second >= 0) {
		close(second);
		test_hybrid();
	} else {
		tap_skip("a hybrid machine", "CPU 1 is not online");
	}
	test_groups();
	test_sums();
	return tap_done();
}
