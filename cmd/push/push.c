/*
 * cprof-push: takes profiles from the spool and sends them, one request at a time and in their
 * order.  One thread waits for new files (inotify), for the time of the next try, and for signals.
 */

#include "cmd/push/push.h"

#include "base/clock.h"
#include "base/err.h"
#include "cmd/cmd.h"
#include "cmd/signals.h"

#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Profiles of one window come together; wait so long for the rest after the first. */
#define SETTLE_MS 500
#define WAIT_MAX_MS 60000
#define BLIND_MS 2000
/* So long may an answer take after SIGTERM. */
#define STOP_NS (5 * UINT64_C(1000000000))

/* Without it, when the user has too many of them, the spool is read from time to time. */
static void open_notify(struct push *p)
{
	p->notify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (p->notify_fd >= 0 && inotify_add_watch(p->notify_fd, p->opts.spool,
						   IN_MOVED_TO | IN_ONLYDIR) < 0) {
		close(p->notify_fd);
		p->notify_fd = -1;
	}
}

static bool take_signals(void *ctx)
{
	struct push *p = ctx;
	struct signalfd_siginfo s;
	while (read(p->signal_fd, &s, sizeof(s)) == sizeof(s)) {
		if (s.ssi_signo == SIGHUP)
			p->hurries = true;
		else
			p->stops = true;
	}
	return p->stops;
}

static int open_http(struct push *p, struct err *e)
{
	p->http = push_http_new(&(struct push_http_config){
		.format = p->opts.format, .url = p->opts.url, .ca_file = p->opts.ca_file,
		.timeout_ns = p->opts.timeout_ns, .begin = push_begin, .ctx = p,
		.signal_fd = p->signal_fd, .stops = take_signals, .stop_ns = STOP_NS,
	}, e);
	return p->http ? 0 : -EINVAL;
}

/* A pusher that is started again and again makes no more reports than one that stays. */
static uint64_t first_report_ns(const struct push *p)
{
	uint64_t age = p->start_ns - p->state.reported_at_ns;
	if (p->opts.is_once || p->state.reported_at_ns > p->start_ns || age > PUSH_REPORT_EVERY_NS)
		return 0;
	return clock_monotonic_ns() + PUSH_REPORT_EVERY_NS - age;
}

static int open_push(struct push *p, struct err *e)
{
	p->signal_fd = signals_open_service(false, e);
	int r = p->signal_fd < 0 ? p->signal_fd : 0;
	if (r == 0)
		r = push_spool_open(&p->spool, p->opts.spool, e);
	if (r == 0)
		r = push_state_open(&p->state, p->opts.state, e);
	if (r == 0)
		r = push_recover(p, e);
	if (r == 0)
		r = open_http(p, e);
	open_notify(p);
	p->start_ns = clock_now_ns(CLOCK_REALTIME);
	p->report_next_ns = first_report_ns(p);
	return r;
}

static void close_push(struct push *p)
{
	push_http_free(p->http);
	push_state_close(&p->state);
	push_spool_close(&p->spool);
	if (p->notify_fd >= 0)
		close(p->notify_fd);
	if (p->signal_fd >= 0)
		close(p->signal_fd);
	push_opts_done(&p->opts);
}

/* ---- the loop ------------------------------------------------------------------------ */

static void take_notices(const struct push *p)
{
	char buf[4096] __attribute__((aligned(8)));
	while (p->notify_fd >= 0 && read(p->notify_fd, buf, sizeof(buf)) > 0)
		continue;
}

static int wait_ms(const struct push *p, enum push_step step)
{
	uint64_t now = clock_monotonic_ns(), until = step == PUSH_STEP_LATER ? p->pace.next_ns
									      : p->report_next_ns;
	uint64_t ms = until > now ? (until - now) / 1000000 + 1 : 1;
	uint64_t max_ms = step == PUSH_STEP_EMPTY && p->notify_fd < 0 ? BLIND_MS : WAIT_MAX_MS;
	return (int)(ms < max_ms ? ms : max_ms);
}

/* Until there may be something to do. */
static void wait_for_work(struct push *p, enum push_step step)
{
	struct pollfd fds[2] = {
		{ .fd = p->signal_fd, .events = POLLIN },
		{ .fd = step == PUSH_STEP_EMPTY ? p->notify_fd : -1, .events = POLLIN },
	};
	poll(fds, 2, wait_ms(p, step));
	if (fds[1].revents && !fds[0].revents)
		poll(fds, 1, SETTLE_MS);
	take_signals(p);
	if (p->hurries)
		p->pace.next_ns = p->report_next_ns = 0;
	p->hurries = false;
	take_notices(p);
	p->at = p->spool.name.n;   /* read the spool anew */
}

static int push_loop(struct push *p)
{
	while (!p->stops) {
		enum push_step step = push_next(p);
		if (step == PUSH_STEP_DONE) {
			take_signals(p);
			continue;
		}
		if (p->opts.is_once)
			return step == PUSH_STEP_LATER ? CMD_FAILED : 0;
		wait_for_work(p, step);
	}
	return 0;
}

int main(int argc, char **argv)
{
	static char name[] = "cprof push";
	struct push p = { .signal_fd = -1, .notify_fd = -1, .spool.fd = -1, .state.fd = -1 };
	struct err e = { 0 };
	argp_err_exit_status = CMD_USAGE;
	if (argc > 0)
		argv[0] = name;
	push_opts_parse(&p.opts, argc, argv);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	int r = open_push(&p, &e);
	int status = r < 0 ? cmd_fail("push", &e) : push_loop(&p);
	close_push(&p);
	return status;
}
