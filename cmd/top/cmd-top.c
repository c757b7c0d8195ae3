/*
 * cprof top: records, and shows the new samples each second (top-refresh.c).  While the display is
 * frozen there are no refreshes, and the recorder keeps collecting.
 */

#include "base/clock.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/top/top-state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 100
#define COMMAND_END_NS UINT64_C(1500000000)

static void take_signals(struct top_state *top)
{
	bool from_terminal;
	int signal;
	while ((signal = signals_next(&top->signals, &from_terminal)) != 0) {
		if (signal == SIGCHLD)
			continue;
		top->quit = true;
	}
	if (top->screen.is_open && top_screen_signals(&top->screen))
		top_refresh_draw(top);
}

/* For the handler, which takes no argument: the command to end; 0: none. */
static volatile sig_atomic_t command_pid;

static void end_command_at_once(void)
{
	top_screen_abandon();
	if (command_pid > 0) {
		kill(command_pid, SIGTERM);
		kill(command_pid, SIGCONT);
	}
}

void top_work_begin(struct top_state *top, const struct outfile *const *unfinished)
{
	const struct launch *l = &top->launch;
	command_pid = l->ended ? 0 : l->pid;
	signals_work_begin(unfinished, end_command_at_once);
}

void top_work_end(struct top_state *top)
{
	top->quit |= signals_work_end();
}

static int take_refresh(struct top_state *top, struct err *e)
{
	top_work_begin(top, NULL);
	int r = top_refresh_take(top, e);
	top_work_end(top);
	return r;
}

/* Records until until_ns, or for one step if that is sooner; *ret_gone: the target has ended. */
static int record_step(struct top_state *top, uint64_t until_ns, bool *ret_gone, struct err *e)
{
	int fds[3] = { top->signals.fd, STDIN_FILENO, top->screen.signal_fd };
	bool ready[3];
	*ret_gone = false;
	if (top->ended) {
		struct pollfd p[3];
		for (int i = 0; i < 3; i++)
			p[i] = (struct pollfd){ .fd = fds[i], .events = POLLIN };
		poll(p, top->screen.is_open ? 3 : 1, -1);
		return 0;
	}
	uint64_t now = clock_monotonic_ns();
	uint64_t left_ms = now < until_ns ? (until_ns - now + 999999) / 1000000 : 0;
	int state = cprof_recorder_step(top->recorder, left_ms < STEP_MS ? (int)left_ms : STEP_MS,
					fds, top->screen.is_open ? 3 : 1, ready, e);
	*ret_gone = state == CPROF_TARGET_GONE || launch_poll(&top->launch, &top->realtime);
	return state < 0 ? state : 0;
}

static int show_last(struct top_state *top, struct err *e)
{
	int r = take_refresh(top, e);
	top->ended = true;
	top->frozen = false;
	top_keys_show(top, "the target has ended; q quits, w writes a profile");
	if (r < 0)
		return r;
	top_refresh_draw(top);
	return 0;
}

static int run_loop(struct top_state *top, struct err *e)
{
	uint64_t next_ns = clock_monotonic_ns() + top->o.interval_ns, n = 0;
	if (!top->o.batch)
		top_refresh_draw(top);
	while (!top->quit) {
		bool gone;
		int r = record_step(top, next_ns, &gone, e);
		take_signals(top);
		if (r < 0)
			return r;
		r = top_keys_take(top, e);
		if (r < 0 || top->quit)
			return r;
		if (gone && !top->ended) {
			r = show_last(top, e);
			if (r < 0)
				return r;
			top->quit |= top->o.batch > 0;
		}
		uint64_t now = clock_monotonic_ns();
		if (now < next_ns)
			continue;
		next_ns = now + top->o.interval_ns;
		if (top->frozen || top->ended)
			continue;
		r = take_refresh(top, e);
		if (r < 0)
			return r;
		top_refresh_draw(top);
		top->quit |= top->o.batch && ++n >= top->o.batch;
	}
	return 0;
}

/* Keeps the command off the terminal, where it would disturb the screen and take the keys. */
static int start_command(struct top_state *top, struct err *e)
{
	int saved[3] = { -1, -1, -1 }, null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0)
		return err_errno(e, errno, "cannot open '/dev/null'");
	fflush(NULL);
	for (int fd = 0; fd <= 2 && !top->o.batch; fd++) {
		if (isatty(fd) != 1)
			continue;
		saved[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 3);
		dup2(null, fd);
	}
	top->cgroup = targetopts_cgroup(&top->rec);
	int r = launch_fork(&top->launch, top->rec.tasks.command, &top->signals.before,
			    cprof_cgroup_fd(top->cgroup), NULL, e);
	for (int fd = 0; fd <= 2; fd++) {
		if (saved[fd] < 0)
			continue;
		dup2(saved[fd], fd);
		close(saved[fd]);
	}
	close(null);
	return r;
}

static int make_tallies(struct top_state *top, struct err *e)
{
	size_t window = (size_t)((top->o.window_ns + top->o.interval_ns - 1) / top->o.interval_ns);
	top->n_events = cprof_recorder_n_events(top->recorder);
	top->tally = calloc(top->n_events, sizeof(*top->tally));
	top->losses = calloc(top->n_events, sizeof(*top->losses));
	if (!top->tally || !top->losses)
		return err_errno(e, ENOMEM, "cannot show the events");
	for (size_t i = 0; i < top->n_events; i++) {
		int r = top_tally_init(&top->tally[i], window, e);
		if (r < 0)
			return r;
		top->tally[i].shows_idle = top->o.wants_idle;
	}
	return 0;
}

/* Records and shows until the end. */
static int show_samples(struct top_state *top, int *ret_status, struct err *e)
{
	int r = cprof_recorder_new(&top->rec.config, &top->recorder, e);
	if (r < 0)
		return r;
	r = make_tallies(top, e);
	if (r < 0)
		return r;
	realtime_start(&top->realtime, !top->rec.is_normal, REALTIME_LOOK_NS);
	realtime_raise(&top->realtime);
	r = cprof_recorder_start(top->recorder, e);
	if (r < 0)
		return r;
	if (top->rec.tasks.command) {
		r = launch_exec(&top->launch, e);
		if (r < 0) {
			*ret_status = r == -ENOENT ? 127 : 126;
			return r;
		}
		cprof_recorder_command_started(top->recorder);
	}
	top_refresh_begin(top);
	r = top->o.batch ? 0 : top_screen_open(&top->screen, e);
	return r < 0 ? r : run_loop(top, e);
}

static int run_recorder(struct top_state *top, int *ret_status, struct err *e)
{
	struct cprof_config *c = &top->rec.config;
	int r = top->o.batch ? 0 : top_screen_check(e);
	if (r < 0)
		return r;
	r = signals_open(&top->signals, 0, e);
	if (r < 0)
		return r;
	r = top->rec.tasks.command ? start_command(top, e) : 0;
	if (r < 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	if (taskopts_is_command(&top->rec.tasks)) {
		c->command_pid = top->launch.pid;
		c->command_file = top->rec.tasks.command[0];
		c->command_cgroup = top->cgroup;
	}
	c->cache_dir = top->cache_dir = cachedir_path();
	c->on_reader = realtime_on_reader;
	c->on_reader_ctx = &top->realtime;
	r = show_samples(top, ret_status, e);
	top_screen_close(&top->screen);
	realtime_lower(&top->realtime);
	if (r < 0)
		return r;
	*ret_status = 0;
	return 0;
}

/* Waits a little for its end; it may ignore the signal. */
static void end_command(struct top_state *top)
{
	const struct timespec step = { .tv_nsec = 10000000 };
	struct launch *l = &top->launch;
	if (!l->pid || l->ended || l->go_fd >= 0)
		return;
	kill(l->pid, SIGTERM);
	kill(l->pid, SIGCONT);
	uint64_t end_ns = clock_monotonic_ns() + COMMAND_END_NS;
	while (!launch_reap(l, false) && clock_monotonic_ns() < end_ns)
		nanosleep(&step, NULL);
	if (!l->ended)
		fprintf(stderr, "cprof top: the command ignores SIGTERM and goes on: pid %d\n",
			(int)l->pid);
}

static void top_done(struct top_state *top)
{
	signals_abort_on(NULL, 0);
	end_command(top);
	realtime_stop(&top->realtime);
	launch_done(&top->launch);
	cprof_recorder_free(top->recorder);
	cprof_cgroup_free(top->cgroup);
	for (size_t i = 0; i < top->n_events && top->tally; i++)
		top_tally_done(&top->tally[i]);
	free(top->tally);
	free(top->losses);
	VEC_FREE(&top->functions.rows);
	VEC_FREE(&top->threads.rows);
	VEC_FREE(&top->states.rows);
	VEC_FREE(&top->locks.rows);
	free(top->cache_dir);
	signals_close(&top->signals);
	targetopts_done(&top->rec);
}

static int run_top(int argc, char **argv)
{
	struct top_state top = {
		.signals.fd = -1, .launch = { .go_fd = -1, .errno_fd = -1 },
		.screen.signal_fd = -1, .thread = TOP_TALLY_ALL,
	};
	struct err e = { 0 };
	int status = CMD_FAILED;
	top_opts_parse(&top, argc, argv);
	term_open(&top.term, false);
	if (top.o.batch)
		top.term = (struct term){ .out = stdout };
	int r = run_recorder(&top, &status, &e);
	if (r < 0) {
		int failed = cmd_fail("top", &e);
		status = status > CMD_FAILED ? status : failed;
	}
	top_done(&top);
	return status;
}

const struct cmd cmd_top = {
	.name = "top",
	.help = "show live which functions and threads cost most",
	.argp = &top_argp,
	.run = run_top,
	.is_recording = true,
};
