/*
 * task-clock counts only while its thread has a CPU, so that the event fires soon after the thread
 * has got one, wherever that is.  PERF_EVENT_IOC_REFRESH with 1 disables it at its first sample:
 * the thread is interrupted once.
 */

#include "snapshot/oneshot.h"

#include "base/clock.h"
#include "base/err.h"
#include "event/evattr.h"
#include "source/record.h"
#include "source/ring.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 20000u
#define STACK_BYTES 32768u
#define RING_PAGES 16u
/* At once.  The default limit on locked memory has room for seven rings on each CPU. */
#define BATCH 64u

struct shot {
	int fd;
	struct ring ring;
	size_t thread;                  /* index */
	bool is_done;
};

static void make_attr(struct perf_event_attr *a)
{
	*a = (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(*a),
		.config = PERF_COUNT_SW_TASK_CLOCK, .sample_period = PERIOD_NS,
		.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
			       PERF_SAMPLE_CPU | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER,
		.sample_regs_user = evattr_user_regs(), .sample_stack_user = STACK_BYTES,
		.disabled = 1, .exclude_hv = 1, .exclude_guest = 1, .sample_id_all = 1,
		.use_clockid = 1, .clockid = CLOCK_MONOTONIC, .wakeup_events = 1,
	};
}

/* The kernel's side may be closed to this user. */
static int open_event(const struct oneshot *o, struct perf_event_attr *a, uint32_t tid)
{
	const struct evopen_place at = { (pid_t)tid, -1, -1, PERF_FLAG_FD_CLOEXEC };
	int fd = evopen_call(o->open, o->host, a, &at);
	if (fd >= 0 || (errno != EACCES && errno != EPERM) || a->exclude_kernel)
		return fd;
	a->exclude_kernel = 1;
	return evopen_call(o->open, o->host, a, &at);
}

/* 1; 0: this thread cannot be sampled; -errno: there is no memory for another ring. */
static int open_shot(const struct oneshot *o, struct perf_event_attr *a, uint32_t tid,
		     size_t thread, struct shot *ret)
{
	struct err e;
	*ret = (struct shot){ .fd = open_event(o, a, tid), .thread = thread };
	if (ret->fd < 0)
		return 0;
	int r = ring_open(&ret->ring, o->host, ret->fd, RING_PAGES, &e);
	if (r == 0 && ioctl(ret->fd, PERF_EVENT_IOC_REFRESH, 1) == 0)
		return 1;
	ring_close(&ret->ring);
	close(ret->fd);
	return r < 0 ? r : 0;
}

/* Delivers the sample if it is there. */
static void read_shot(const struct oneshot *o, const struct record_format *format, struct shot *s)
{
	size_t n_bytes;
	const void *raw;
	struct record r;
	ring_fetch(&s->ring);
	while (!s->is_done && (raw = ring_next(&s->ring, &n_bytes))) {
		const struct perf_event_header *h = raw;
		if (h->type != PERF_RECORD_SAMPLE ||
		    record_decode(format, raw, n_bytes, &r) != RECORD_OK)
			continue;
		s->is_done = true;
		o->sample(o->ctx, s->thread, &r);
	}
}

static void wait_for(const struct oneshot *o, const struct record_format *format,
		     struct shot *shot, size_t n)
{
	uint64_t end_ns = clock_monotonic_ns() + ONESHOT_WAIT_NS;
	if (end_ns > o->end_ns)
		end_ns = o->end_ns;
	for (;;) {
		struct pollfd p[BATCH];
		size_t n_open = 0;
		for (size_t i = 0; i < n; i++) {
			read_shot(o, format, &shot[i]);
			if (!shot[i].is_done)
				p[n_open++] = (struct pollfd){ .fd = shot[i].fd,
							       .events = POLLIN };
		}
		uint64_t now = clock_monotonic_ns();
		if (!n_open || now >= end_ns)
			return;
		if (poll(p, n_open, (int)((end_ns - now) / 1000000) + 1) < 0 && errno != EINTR)
			return;
		/* An event whose thread has ended is always ready. */
		bool all_gone = true;
		for (size_t i = 0; i < n_open; i++)
			all_gone &= (p[i].revents & (POLLHUP | POLLERR | POLLIN)) != 0;
		if (all_gone) {
			for (size_t i = 0; i < n; i++)
				read_shot(o, format, &shot[i]);
			return;
		}
	}
}

void oneshot_take(const struct oneshot *o, const uint32_t *tid, size_t n)
{
	struct perf_event_attr a;
	struct record_format format;
	make_attr(&a);
	evattr_format(&a, &format);
	for (size_t at = 0; at < n && a.sample_regs_user && clock_monotonic_ns() < o->end_ns;) {
		struct shot shot[BATCH];
		size_t n_shots = 0;
		for (; at < n && n_shots < BATCH; at++) {
			int r = open_shot(o, &a, tid[at], at, &shot[n_shots]);
			if (r < 0 && n_shots)
				break;  /* in the next batch */
			n_shots += r > 0;
		}
		wait_for(o, &format, shot, n_shots);
		for (size_t i = 0; i < n_shots; i++) {
			ring_close(&shot[i].ring);
			close(shot[i].fd);
		}
	}
}
