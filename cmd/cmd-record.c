/*
 * cprof record: from the command line to files on disk.  What recording means is
 * in the library; here are options, the command that is run, signals, and output.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/hottest.h"
#include "cmd/launch.h"
#include "cmd/output.h"
#include "cmd/recordopts.h"
#include "cmd/signals.h"
#include "cmd/summary.h"
#include "cprof.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* Records wait at most this long in a ring that is not full enough to wake us. */
#define STEP_MS 100

struct recording {
	struct recordopts opts;
	struct log log;
	struct signals signals;
	struct launch launch;
	struct cprof_recorder *recorder;
	struct output *output;         /* per event */
	char **unfinished;             /* their temporary names */
	struct summary_file *file;     /* per event: what was written */
	size_t n_events, n_written;
	char *cache_dir;
	int ended_by;                  /* the signal that ended recording; 0 */
	bool from_terminal;
};

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The reader must not wait behind the threads that it records: at normal priority
 * it starves when there are more runnable threads than CPUs, and rings overflow.  It sleeps nearly
 * always, and is normal again when the long work (names) begins.
 */
static void set_realtime(bool on)
{
	struct sched_param p = { .sched_priority = on ? 1 : 0 };
	sched_setscheduler(0, on ? SCHED_FIFO | SCHED_RESET_ON_FORK : SCHED_OTHER, &p);
}

/* ---- while it records ---------------------------------------------------------------- */

/* True when recording shall end. */
static bool take_signals(struct recording *rec)
{
	int signal;
	bool end = false;
	while ((signal = signals_next(&rec->signals, &rec->from_terminal)) != 0) {
		if (signal != SIGCHLD) {
			rec->ended_by = signal;
			end = true;
		}
	}
	return launch_reap(&rec->launch, false) || end;
}

static int step_ms(uint64_t end_ns)
{
	uint64_t now = now_ns();
	if (end_ns <= now)
		return 0;
	uint64_t left_ms = (end_ns - now + 999999) / 1000000;
	return left_ms < STEP_MS ? (int)left_ms : STEP_MS;
}

static int record(struct recording *rec, struct err *e)
{
	const struct recordopts *o = &rec->opts;
	uint64_t end_ns = UINT64_MAX;
	if (o->duration_ns)
		end_ns = now_ns() + o->duration_ns + o->config.delay_ns;
	for (;;) {
		bool ready;
		int state = cprof_recorder_step(rec->recorder, step_ms(end_ns), &rec->signals.fd, 1,
						&ready, e);
		if (state < 0)
			return state;
		if (take_signals(rec) || state == CPROF_TARGET_GONE || now_ns() >= end_ns)
			return 0;
	}
}

static int start_command(struct recording *rec, struct err *e)
{
	if (!rec->opts.command)
		return 0;
	return launch_fork(&rec->launch, rec->opts.command, &rec->signals.before, e);
}

/* ---- what comes out of it --------------------------------------------------------------- */

static int open_outputs(struct recording *rec, struct err *e)
{
	rec->n_events = cprof_recorder_n_events(rec->recorder);
	rec->output = calloc(rec->n_events, sizeof(*rec->output));
	rec->file = calloc(rec->n_events, sizeof(*rec->file));
	rec->unfinished = calloc(rec->n_events, sizeof(*rec->unfinished));
	if (!rec->output || !rec->file || !rec->unfinished)
		return err_errno(e, ENOMEM, "cannot open the output");
	VEC(const char *) parts = { 0 };
	for (size_t i = 0; i < rec->n_events; i++) {
		struct cprof_event_stats ev;
		cprof_recorder_event_stats(rec->recorder, i, &ev);
		if (!VEC_PUSH(&parts, ev.file_part)) {
			VEC_FREE(&parts);
			return err_errno(e, ENOMEM, "cannot open the output");
		}
	}
	int code = output_open(rec->output, parts.v, rec->n_events, rec->opts.output, e);
	VEC_FREE(&parts);
	for (size_t i = 0; code == 0 && i < rec->n_events; i++)
		rec->unfinished[i] = rec->output[i].file.tmp_path;
	return code;
}

static void print_problem(const struct recording *rec, const struct err *why, bool silent)
{
	if (!silent) {
		cmd_fail("record", why);
	} else if (!rec->opts.quiet) {
		struct err word = *why;
		snprintf(word.what, sizeof(word.what),
			 "warning: %.900s, so no file is written for it", why->what);
		cmd_fail("record", &word);
	}
}

/*
 * Writes the events that have samples.  Each that has none is told by itself: one that did not
 * happen, among others that did, is only worth a word; all else is a failure (-ENODATA, with
 * *e empty since all is said), though the others are written.
 */
static int write_outputs(struct recording *rec, struct err *e)
{
	struct err why, only = { 0 };
	bool failed = false;
	size_t n_silent = 0;
	for (size_t i = 0; i < rec->n_events; i++) {
		struct summary_file *f = &rec->file[i];
		if (cprof_recorder_check(rec->recorder, i, &f->silent, &why) < 0) {
			output_discard(&rec->output[i]);
			f->silent &= rec->n_events > 1;
			n_silent += f->silent;
			failed |= !f->silent;
			snprintf(f->problem, sizeof(f->problem), "%.255s", why.what);
			only = why;
			if (rec->n_events > 1)
				print_problem(rec, &why, f->silent);
			continue;
		}
		int code = cprof_recorder_write(rec->recorder, i, output_write, &rec->output[i], e);
		if (code < 0) {
			outfile_error(&rec->output[i].file, e);  /* names the file */
			rec->n_written = 0;
			return code;
		}
		f->path = rec->output[i].path;
		f->n_bytes = rec->output[i].n_bytes;
		rec->n_written++;
	}
	signals_hold();
	int code = rec->n_written ? output_commit(rec->output, rec->n_events, e) : 0;
	if (code < 0) {
		rec->n_written = 0;
		return code;
	}
	if (rec->n_events == 1 && only.code) {
		*e = only;
		return only.code;
	}
	if (n_silent == rec->n_events)
		return err_set(e, ENODATA, "none of the events happened once");
	return failed ? -ENODATA : 0;
}

static double own_cpu_s(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Of the first file, for people only: on a terminal. */
static void show_hottest(const struct recording *rec)
{
	if (rec->opts.json || isatty(STDERR_FILENO) != 1)
		return;
	for (size_t i = 0; i < rec->n_events; i++) {
		const char *path = rec->file[i].path;
		if (path && strcmp(path, "-") != 0) {
			hottest_print(path);
			return;
		}
	}
}

static int summarize(struct recording *rec)
{
	struct summary s = {
		.recorder = rec->recorder, .file = rec->file, .verbose = rec->opts.verbose,
		.command_name = rec->launch.name, .command_ended = rec->launch.ended,
		.command_status = rec->launch.ended ? launch_status(&rec->launch) : 0,
		.own_cpu_s = own_cpu_s(),
	};
	if (!rec->opts.quiet) {
		summary_print(&s, stderr);
		show_hottest(rec);
	}
	if (rec->opts.json) {
		summary_print_json(&s, stdout);
		if (fflush(stdout) != 0) {
			struct err e;
			err_errno(&e, errno, "cannot write the summary to stdout");
			return cmd_fail("record", &e);
		}
	}
	if (rec->opts.strict && summary_has_losses(&s)) {
		fprintf(stderr, "cprof record: --strict: the profile is incomplete, see above\n");
		return CMD_LOSSES;
	}
	return 0;
}

/* ---- all together --------------------------------------------------------------------------- */

/* Everything up to the finished files; the exit status in *ret_status when it worked. */
static int run(struct recording *rec, int *ret_status, struct err *e)
{
	struct recordopts *o = &rec->opts;
	int code = signals_open(&rec->signals, e);
	if (code == 0)
		code = start_command(rec, e);
	if (code < 0)
		return code;
	signal(SIGPIPE, SIG_IGN);
	o->config.command_pid = rec->launch.pid;
	o->config.log = &rec->log;
	o->config.cache_dir = rec->cache_dir = cachedir_path();
	set_realtime(true);
	code = cprof_recorder_new(&o->config, &rec->recorder, e);
	if (code == 0)
		code = open_outputs(rec, e);
	if (code == 0)
		code = cprof_recorder_start(rec->recorder, e);
	if (code == 0 && o->command) {
		code = launch_exec(&rec->launch, e);
		if (code < 0)
			*ret_status = code == -ENOENT ? 127 : 126;
		else
			cprof_recorder_command_started(rec->recorder);
	}
	if (code == 0)
		code = record(rec, e);
	if (code == 0 && rec->launch.ended)
		cprof_recorder_command_used(rec->recorder, rec->launch.cpu_ns);
	if (code == 0)
		code = cprof_recorder_stop(rec->recorder, e);
	set_realtime(false);
	if (code < 0)
		return code;
	signals_abort_on(rec->unfinished, rec->n_events);
	code = write_outputs(rec, e);
	if (rec->n_written)
		*ret_status = summarize(rec);
	return code;
}

/* A command that runs on gets the signal that ended the recording (the terminal has sent it
 * already), and then as much time as it wants: the files are complete. */
static void await_command(struct recording *rec)
{
	struct launch *l = &rec->launch;
	if (!l->pid || l->ended || l->go_fd >= 0)
		return;
	sigset_t none;
	sigemptyset(&none);
	signals_abort_on(NULL, 0);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (rec->ended_by && !rec->from_terminal)
		kill(l->pid, rec->ended_by);
	launch_reap(l, true);
}

static void recording_done(struct recording *rec)
{
	signals_abort_on(NULL, 0);  /* the names go */
	launch_done(&rec->launch);
	for (size_t i = 0; i < rec->n_events && rec->output; i++)
		output_done(&rec->output[i]);
	free(rec->output);
	free(rec->file);
	free(rec->unfinished);
	free(rec->cache_dir);
	cprof_recorder_free(rec->recorder);
	signals_close(&rec->signals);
	recordopts_done(&rec->opts);
}

static int run_record(int argc, char **argv)
{
	struct recording rec = {
		.signals.fd = -1, .launch = { .go_fd = -1, .errno_fd = -1 },
	};
	struct err e = { 0 };
	int status = CMD_FAILED;
	recordopts_parse(&rec.opts, argc, argv);
	rec.log = (struct log){ .line = cmd_log_line, .ctx = (void *)"record" };
	rec.log.max = rec.opts.verbose ? LOG_EXPLAIN : LOG_NOTE;
	if (rec.opts.quiet)
		rec.log.line = NULL;
	int code = run(&rec, &status, &e);
	if (code < 0) {
		int failed = e.code ? cmd_fail("record", &e) : CMD_FAILED;
		status = status > CMD_FAILED && status != CMD_USAGE ? status : failed;
		for (size_t i = 0; i < rec.n_events && rec.output; i++)
			output_discard(&rec.output[i]);
	}
	await_command(&rec);
	if (status == 0 && rec.launch.ended)
		status = launch_status(&rec.launch);
	recording_done(&rec);
	return status;
}

const struct cmd cmd_record = {
	.name = "record",
	.help = "record a profile of processes, threads or a command",
	.run = run_record,
};
