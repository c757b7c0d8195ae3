/*
 * cprof stat: opens the counters, runs the command or waits, and prints what was counted.  A
 * repeated command gets new counters for each run.
 */
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cmd.h"
#include "cmd/launch.h"
#include "cmd/nofile.h"
#include "cmd/outputs.h"
#include "cmd/signals.h"
#include "cmd/stat/stat-opts.h"
#include "cmd/stat/stat-output.h"
#include "cmd/stat/stat-series.h"
#include "cprof.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How often to look whether processes have ended. */
#define STEP_MS 50

struct counting {
	struct stat_opts o;
	struct signals signals;
	struct launch launch;
	struct cprof_counter *counter;
	struct stat_series series;
	int ended_by;              /* signal; 0: none */
	bool from_terminal;
	int status;                /* the first of a command that is not 0 */
};

/* enum cprof_explain has the levels of enum log_level. */
static void log_stat_line(void *ctx, unsigned level, const char *text)
{
	(void)ctx;
	cmd_log_line((void *)"stat", (enum log_level)level, text);
}

static void take_signals(struct counting *c)
{
	int signal;
	bool from_terminal = false;
	while ((signal = signals_next(&c->signals, &from_terminal)) != 0) {
		if (signal == SIGCHLD)
			continue;
		c->ended_by = signal;
		c->from_terminal = from_terminal;
	}
}

/* Until the command or the processes end, or the time is over, or a signal arrives. */
static void wait_for_end(struct counting *c, uint64_t end_ns)
{
	struct launch *l = &c->launch;
	while (!c->ended_by) {
		uint64_t now_ns = clock_monotonic_ns();
		if ((l->pid && launch_reap(l, false)) || now_ns >= end_ns ||
		    (!l->pid && cprof_counter_is_over(c->counter)))
			return;
		int ms = l->pid ? -1 : STEP_MS;
		if (end_ns != UINT64_MAX)
			ms = clock_sooner_ms(ms, (int)((end_ns - now_ns) / 1000000 + 1));
		struct pollfd p = { .fd = c->signals.fd, .events = POLLIN };
		if (poll(&p, 1, ms) > 0)
			take_signals(c);
	}
}

/* If the command still runs, passes on the signal that ended the counting (unless the terminal has
 * sent it already), and waits for its end.  A signal during this wait ends the program. */
static void await_command(struct counting *c)
{
	struct launch *l = &c->launch;
	if (!l->pid || l->ended || l->go_fd >= 0)
		return;
	signals_abort_on(NULL, 0);
	if (c->ended_by && !c->from_terminal)
		kill(l->pid, c->ended_by);
	launch_reap(l, true);
	signals_hold();
}

/* Counts from the start of the command, or from now on, to the end. */
static int count(struct counting *c, struct stat_run *run, struct err *e)
{
	uint64_t busy_ns = 0, busy_end_ns = 0;
	cprof_counter_busy_ns(c->counter, &busy_ns);
	uint64_t start_ns = clock_monotonic_ns();
	int r = cprof_counter_start(c->counter, e);
	if (r == 0 && c->o.tasks.command) {
		r = launch_exec(&c->launch, e);
		c->status = r == -ENOENT ? 127 : r < 0 ? 126 : c->status;
	}
	if (r < 0)
		return r;
	uint64_t end_ns = c->o.duration_ns ? start_ns + c->o.duration_ns : UINT64_MAX;
	wait_for_end(c, end_ns < start_ns ? UINT64_MAX : end_ns);
	run->elapsed_ns = clock_monotonic_ns() - start_ns;
	r = cprof_counter_read(c->counter, e);
	cprof_counter_busy_ns(c->counter, &busy_end_ns);
	run->busy_ns = busy_end_ns - busy_ns;
	return r;
}

static int run_once(struct counting *c, struct err *e)
{
	struct cprof_counter_config config = c->o.config;
	struct stat_run run = { 0 };
	c->launch = (struct launch){ .go_fd = -1, .errno_fd = -1 };
	int r = !c->o.tasks.command ? 0 :
		launch_fork(&c->launch, c->o.tasks.command, &c->signals.before, -1, NULL, e);
	if (r < 0)
		return r;
	if (taskopts_is_command(&c->o.tasks))
		config.command_pid = c->launch.pid;
	/* Later runs would repeat what was said of the first. */
	if (c->series.runs.n || c->o.quiet)
		config.explain = NULL;
	r = cprof_counter_new(&config, &c->counter, e);
	if (r == 0)
		r = count(c, &run, e);
	if (r < 0)
		return r;
	bool was_cut = c->ended_by && c->series.runs.n;
	await_command(c);
	if (c->launch.ended) {
		run.status = launch_status(&c->launch);
		run.user_ns = c->launch.user_ns;
		run.system_ns = c->launch.system_ns;
		c->status = c->status ? c->status : run.status;
	}
	/* A run that was interrupted would spoil the means. */
	if (was_cut || stat_series_add(&c->series, c->counter, &run))
		return 0;
	return err_errno(e, ENOMEM, "cannot keep the counts");
}

static void end_run(struct counting *c)
{
	launch_done(&c->launch);
	cprof_counter_free(c->counter);
	c->counter = NULL;
}

static int print_series(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			void *ctx, struct err *e)
{
	struct counting *c = what;
	char *text = NULL;
	size_t n;
	FILE *mem = open_memstream(&text, &n);
	if (!mem)
		return err_errno(e, ENOMEM, "cannot print the counts");
	(c->o.json ? stat_output_json : stat_output_text)(mem, &c->series, &c->o);
	int r = fclose(mem) == 0 ? write(ctx, text, n) : -ENOMEM;
	free(text);
	return r;
}

static int print_result(struct counting *c, struct err *e)
{
	if (c->o.output || c->o.json)
		return outputs_write(&(struct outputs){
			.name = c->o.output ? c->o.output : "-", .fn = print_series, .what = c,
		}, 1, &c->o.mode, e);
	stat_output_text(stderr, &c->series, &c->o);
	return 0;
}

static int run_all(struct counting *c, struct err *e)
{
	int r = signals_open(&c->signals, 0, e);
	for (unsigned i = 0; r == 0 && i < c->o.n_repeats && !c->ended_by; i++) {
		r = run_once(c, e);
		end_run(c);
	}
	return r < 0 ? r : print_result(c, e);
}

static int run_stat(int argc, char **argv)
{
	static char name[] = "cprof stat";
	struct counting c = { .signals.fd = -1, .launch = { .go_fd = -1, .errno_fd = -1 } };
	struct err e = { 0 };
	argv[0] = name;
	stat_opts_parse(&c.o, argc, argv);
	nofile_raise();
	c.o.config.explain = log_stat_line;
	c.o.config.explain_max = c.o.verbose ? CPROF_EXPLAIN_ALL : CPROF_EXPLAIN_NOTE;
	int status = 0, r = run_all(&c, &e);
	if (r < 0) {
		status = cmd_fail("stat", &e);
		await_command(&c);
	}
	if (c.status)
		status = c.status;
	end_run(&c);
	signals_close(&c.signals);
	stat_series_done(&c.series);
	stat_opts_done(&c.o);
	return status;
}

const struct cmd cmd_stat = {
	.name = "stat",
	.help = "count events in processes, threads or a command",
	.argp = &stat_opts_argp,
	.run = run_stat,
	.is_recording = true,
};
