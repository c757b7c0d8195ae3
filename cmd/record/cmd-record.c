/*
 * cprof record: from the command line to files on disk.  The library records; this file handles
 * options, the command to run, signals and output.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/record/alloclib.h"
#include "cmd/record/topfive.h"
#include "cmd/record/recording.h"
#include "cmd/record/repeat.h"
#include "cmd/record/recordloop.h"
#include "cmd/record/summary.h"
#include "cprof.h"

#include <errno.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VARIABLES_MAX 8            /* more than cprof_preload_variable has */

/* A command whose memory is recorded loads the library that does it. */
static int prepare_memory(struct recording *rec, struct err *e)
{
	if (!rec->opts.is_memory || !taskopts_is_command(&rec->opts.target.tasks))
		return 0;
	CLEANUP_FREE char *path = alloclib_path(e);
	return path ? cprof_preload_new(path, &rec->preload, e) : -ENOENT;
}

static int start_command(struct recording *rec, struct err *e)
{
	if (!rec->opts.target.tasks.command)
		return 0;
	int r = prepare_memory(rec, e);
	if (r < 0)
		return r;
	const char *variable[VARIABLES_MAX + 1] = { NULL };
	for (size_t i = 0; rec->preload && i < VARIABLES_MAX; i++)
		variable[i] = cprof_preload_variable(rec->preload, i);
	rec->cgroup = targetopts_cgroup(&rec->opts.target);
	return launch_fork(&rec->launch, rec->opts.target.tasks.command, &rec->signals.before,
			   cprof_cgroup_fd(rec->cgroup), variable, e);
}

/* Shows the hottest functions of the first file, only on a terminal. */
static void show_hottest(const struct recording *rec)
{
	if (rec->opts.json || isatty(STDERR_FILENO) != 1)
		return;
	for (size_t i = 0; i < rec->files.n_events; i++) {
		const char *path = rec->files.file[i].path;
		if (path && strcmp(path, "-") != 0) {
			topfive_print(path);
			return;
		}
	}
}

static int summarize(struct recording *rec)
{
	struct summary s = {
		.recorder = rec->recorder, .file = rec->files.file, .verbose = rec->opts.verbose,
		.command_name = rec->launch.name, .command_ended = rec->launch.ended,
		.command_status = rec->launch.ended ? launch_status(&rec->launch) : 0,
		.command_signal = launch_signal(&rec->launch),
		.own_cpu_s = summary_own_cpu_s(),
		.used_by_ticks = rec->opts.target.config.all_processes,
		.realtime = realtime_state(&rec->realtime),
	};
	if (!rec->opts.quiet) {
		summary_print(&s, stderr);
		show_hottest(rec);
	} else {
		summary_print_quiet(&s, rec->opts.strict, stderr);
	}
	if (rec->opts.json) {
		summary_print_json(&s, stdout);
		if (fflush(stdout) != 0) {
			struct err e;
			err_errno(&e, errno, "cannot write the summary to stdout");
			__fpurge(stdout);  /* report it only once */
			clearerr(stdout);
			return cmd_fail("record", &e);
		}
	}
	if (rec->opts.strict && summary_has_losses(&s)) {
		fprintf(stderr, "cprof record: --strict: the profile is incomplete, see above\n");
		return CMD_LOSSES;
	}
	return 0;
}

/* Each rotated file has losses of its own; the final profile includes those of snapshots. */
static int check_parts(const struct recording *rec, int status)
{
	if (rec->opts.part.rotate.kind == ROTATE_NEVER || !rec->parts.n_with_losses)
		return status;
	fprintf(stderr, "cprof record: --strict: %zu of the files before the last are "
		"incomplete\n", rec->parts.n_with_losses);
	return status ? status : CMD_LOSSES;
}

/* ---- files --------------------------------------------------------------------------------- */

/* Opens the final files.  If their names have a stamp, only checks that they can be opened. */
static int open_files(struct recording *rec, struct err *e)
{
	const struct recordopts *o = &rec->opts;
	bool stamped = o->part.rotate.kind != ROTATE_NEVER;
	char stamp[ROTATE_STAMP_MAX];
	rec->parts.output = o->output;
	rec->parts.mode = rec->files.mode = o->mode;
	rec->parts.quiet = o->quiet;
	rec->parts.max_kept = o->part.max_files;
	rec->parts.json = o->json;
	rec->parts.strict = o->strict;
	rec->parts.realtime = &rec->realtime;
	if (stamped)
		partwriter_stamp(&rec->parts, rec->recorder, stamp);
	int r = recordfiles_open(&rec->files, rec->recorder, o->output, stamped ? stamp : NULL, e);
	if (stamped)
		recordfiles_done(&rec->files);
	return r;
}

static void keep_files(struct recording *rec)
{
	VEC(char) names = { 0 };
	for (size_t i = 0; i < rec->files.n_events; i++) {
		const char *path = rec->files.file[i].path;
		size_t n = path ? strlen(path) + 1 : 0;
		if (n && VEC_RESERVE(&names, n)) {
			memcpy(names.v + names.n, path, n);
			names.n += n;
		}
	}
	if (names.n)
		partwriter_keep(&rec->parts, names.v, names.n);
	VEC_FREE(&names);
}

/* From now on a signal ends the program at once; no file remains. */
static void abort_on_signals(const struct recording *rec)
{
	signals_abort_on(rec->files.unfinished, rec->files.n_events);
}

static int write_files(struct recording *rec, struct err *e)
{
	struct recordfiles *f = &rec->files;
	bool stamped = rec->opts.part.rotate.kind != ROTATE_NEVER;
	char stamp[ROTATE_STAMP_MAX];
	if (stamped) {
		f->is_part = rec->parts.n_written;
		partwriter_stamp(&rec->parts, rec->recorder, stamp);
		signals_hold();  /* a file that is being opened could not be removed */
		int r = recordfiles_open(f, rec->recorder, rec->opts.output, stamp, e);
		if (r < 0)
			return r;
	}
	abort_on_signals(rec);
	int r = recordfiles_write(f, rec->recorder, e);
	/* The earlier files may have all the samples: an empty last one is not a failure. */
	if (r == -ENODATA && f->is_part)
		r = 0;
	if (stamped)
		keep_files(rec);
	if (r < 0)
		return r;
	if (rec->parts.n_failed)
		return err_set(e, EIO, "%zu of the files before the last could not be written",
			       rec->parts.n_failed);
	return 0;
}

/* ---- recording --------------------------------------------------------------------------- */

/* enum cprof_explain has the levels of enum log_level. */
static void log_record_line(void *ctx, unsigned level, const char *text)
{
	(void)ctx;
	cmd_log_line((void *)"record", (enum log_level)level, text);
}

/* Called before signals are blocked: waiting can be interrupted. */
static int take_machine(struct recording *rec, struct err *e)
{
	char state[EXCLUSIVE_TEXT_MAX];
	if (!rec->opts.exclusive)
		return 0;
	snprintf(rec->machine, sizeof(rec->machine), "exclusive: %s",
		 exclusive_describe(&rec->host, state));
	rec->opts.target.config.note = rec->machine;
	return exclusive_take(&rec->host, rec->opts.quiet, e);
}

/* Everything that can fail before the recorder exists. */
static int prepare_recording(struct recording *rec, struct err *e)
{
	const struct partopts *part = &rec->opts.part;
	/* Its descriptors are left to the events where nothing else needs it. */
	int r = rec->opts.exclusive || part->trigger.text ?
		host_open(&rec->host, NULL, NULL, NULL, e) : 0;
	if (r < 0)
		return r;
	r = take_machine(rec, e);
	if (r < 0)
		return r;
	r = signals_open(&rec->signals, part->signal, e);
	if (r < 0)
		return r;
	r = part->has_control ? control_open(&rec->control, &part->control, e) : 0;
	return r < 0 ? r : start_command(rec, e);
}

static void configure_recorder(struct recording *rec)
{
	const struct recordopts *o = &rec->opts;
	struct cprof_config *c = &rec->opts.target.config;
	if (taskopts_is_command(&o->target.tasks)) {
		c->command_pid = rec->launch.pid;
		c->command_file = o->target.tasks.command[0];
		c->command_cgroup = rec->cgroup;
		c->command_preload = rec->preload;
	}
	if (!o->quiet)
		c->explain = log_record_line;
	c->explain_max = o->verbose ? CPROF_EXPLAIN_ALL : CPROF_EXPLAIN_NOTE;
	c->cache_dir = rec->cache_dir = cachedir_path();
	c->on_reader = realtime_on_reader;
	c->on_reader_ctx = &rec->realtime;
}

/* Records from the first event that is opened to the end. */
static int record_samples(struct recording *rec, int *ret_status, struct err *e)
{
	int nice;
	bool is_hurried = !rec->opts.target.is_normal && realtime_hurry(&nice);
	int r = cprof_recorder_new(&rec->opts.target.config, &rec->recorder, e);
	if (r == 0)
		r = open_files(rec, e);
	if (is_hurried)
		realtime_calm(nice);
	if (r < 0)
		return r;
	/* Only now: while other real-time threads never sleep, opening would not end. */
	realtime_start(&rec->realtime, !rec->opts.target.is_normal, REALTIME_LOOK_NS);
	realtime_raise(&rec->realtime);
	r = cprof_recorder_start(rec->recorder, e);
	if (r < 0)
		return r;
	if (rec->opts.target.tasks.command) {
		r = launch_exec(&rec->launch, e);
		if (r < 0) {
			*ret_status = r == -ENOENT ? 127 : 126;
			return r;
		}
		cprof_recorder_command_started(rec->recorder);
	}
	r = recordloop_run(rec, e);
	if (r < 0)
		return r;
	abort_on_signals(rec);  /* the rest of the records and of files with JIT code takes time */
	if (rec->launch.ended && taskopts_is_command(&rec->opts.target.tasks))
		cprof_recorder_command_used(rec->recorder, rec->launch.cpu_ns);
	return cprof_recorder_stop(rec->recorder, e);
}

/* Records and writes all files; on success *ret_status is the exit status. */
static int record_target(struct recording *rec, int *ret_status, struct err *e)
{
	int r = prepare_recording(rec, e);
	if (r < 0)
		return r;
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	configure_recorder(rec);
	r = record_samples(rec, ret_status, e);
	realtime_lower(&rec->realtime);
	if (r < 0)
		return r;
	r = write_files(rec, e);
	if (rec->files.n_written)
		*ret_status = summarize(rec);
	if (r < 0)
		return r;
	*ret_status = check_parts(rec, rec->files.n_written ? *ret_status : 0);
	return 0;
}

/* If the command still runs, passes on the signal that ended the recording (unless the terminal has
 * sent it already), and waits for its end without a time limit: the files are complete. */
static void await_command(struct recording *rec)
{
	struct launch *l = &rec->launch;
	if (!l->pid || l->ended || l->go_fd >= 0)
		return;
	sigset_t none;
	sigemptyset(&none);
	signals_abort_on(NULL, 0);
	if (rec->opts.part.signal)
		signal(rec->opts.part.signal, SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (rec->ended_by && !rec->from_terminal)
		kill(l->pid, rec->ended_by);
	launch_reap(l, true);
}

static void recording_done(struct recording *rec)
{
	signals_abort_on(NULL, 0);  /* the names are freed next */
	realtime_stop(&rec->realtime);
	launch_done(&rec->launch);
	recordfiles_done(&rec->files);
	partwriter_done(&rec->parts);
	control_close(&rec->control);
	targetuse_done(&rec->use);
	cprof_recorder_free(rec->recorder);
	free(rec->cache_dir);
	cprof_cgroup_free(rec->cgroup);
	cprof_preload_free(rec->preload);
	signals_close(&rec->signals);
	host_close(&rec->host);
	recordopts_done(&rec->opts);
}

static int record_once(struct recordopts *o)
{
	struct recording rec = {
		.opts = *o, .host.fd = { -1, -1, -1 },
		.signals.fd = -1, .launch = { .go_fd = -1, .errno_fd = -1 },
		.control = { .fd = -1, .ack_fd = -1 }, .parts.fd = -1,
	};
	struct err e = { 0 };
	int status = CMD_FAILED;
	int r = record_target(&rec, &status, &e);
	if (r < 0) {
		int failed = e.code ? cmd_fail("record", &e) : CMD_FAILED;
		status = status > CMD_FAILED && status != CMD_USAGE ? status : failed;
		/* A command that is too short for a sample has run nevertheless. */
		if (r == -ENODATA && rec.launch.pid && rec.launch.go_fd < 0 && !rec.opts.strict)
			status = 0;
		recordfiles_discard(&rec.files);
	}
	await_command(&rec);
	/* That of a command that failed says more than that its profile could not be saved. */
	bool is_unsaved = e.code && status == CMD_FAILED;
	if (rec.launch.ended && (status == 0 || (is_unsaved && launch_status(&rec.launch))))
		status = launch_status(&rec.launch);
	recording_done(&rec);
	return status;
}

static int run_record(int argc, char **argv)
{
	struct recordopts o;
	recordopts_parse(&o, argc, argv);
	if (!o.repeat)
		return record_once(&o);
	int status = repeat_run(&o, record_once);
	recordopts_done(&o);
	return status;
}

const struct cmd cmd_record = {
	.name = "record",
	.help = "record a profile of processes, threads or a command",
	.argp = &recordopts_argp,
	.run = run_record,
	.is_recording = true,
};
