/*
 * cprof snapshot: what every thread is doing right now.  SIGINT ends the program at once while it
 * reads and looks up names, because there is nothing to save then.
 */

#include "base/clock.h"
#include "base/err.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/nofile.h"
#include "cmd/outputs.h"
#include "cmd/signals.h"
#include "cmd/snapshot/snapshot-fold.h"
#include "cmd/snapshot/snapshot-go.h"
#include "cmd/snapshot/snapshot-json.h"
#include "cmd/snapshot/snapshot-opts.h"
#include "cmd/snapshot/snapshot-repeat.h"
#include "cmd/snapshot/snapshot-text.h"
#include "cprof-snapshot.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One run of the command. */
struct shot {
	struct snapshot_opts o;
	struct cprof_recorder *recorder;
	struct snapshot_repeat repeat;
};

static volatile sig_atomic_t is_interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	is_interrupted = 1;
	signals_note_end();
}

/* SIGINT between two snapshots ends the series, and everything seen until then is shown. */
static void sleep_until(uint64_t end_ns)
{
	struct sigaction catch = { .sa_handler = on_interrupt }, before;
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns >= end_ns)
		return;
	const struct timespec t = {
		.tv_sec = (time_t)((end_ns - now_ns) / 1000000000),
		.tv_nsec = (long)((end_ns - now_ns) % 1000000000),
	};
	sigaction(SIGINT, &catch, &before);
	nanosleep(&t, NULL);
	if (is_interrupted)
		signals_abort_on(NULL, 0);
	else
		sigaction(SIGINT, &before, NULL);
}

static int take_all(struct shot *s, struct err *e)
{
	uint64_t next_ns = clock_monotonic_ns();
	for (uint64_t i = 0; i < s->o.n_repeats && !is_interrupted; i++) {
		sleep_until(next_ns);
		int r = is_interrupted ? 0 : cprof_recorder_snapshot(s->recorder, e);
		if (r == -ESRCH && i)
			break;  /* the target has ended */
		if (r < 0)
			return r;
		if (!is_interrupted && s->o.n_repeats > 1 &&
		    snapshot_repeat_add(&s->repeat, s->recorder) < 0)
			return err_errno(e, ENOMEM, "cannot take a snapshot");
		next_ns += s->o.every_ns;
	}
	return cprof_snapshot_names(s->recorder, e);
}

static int write_profile(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			 void *ctx, struct err *e)
{
	return cprof_recorder_write(what, 0, write, ctx, e);
}

static int write_output(struct shot *s, struct err *e)
{
	struct cprof_stats stats;
	if (!s->o.output)
		return 0;
	cprof_recorder_stats(s->recorder, &stats);
	s->o.mode.denied |= stats.is_private ? FILEMODE_PRIVATE : 0;
	return outputs_write(&(struct outputs){
		.name = s->o.output, .is_binary = true, .fn = write_profile, .what = s->recorder,
	}, 1, &s->o.mode, e);
}

static int print(struct shot *s, struct err *e)
{
	int r = 0;
	if (s->o.go_format == 1) {
		r = snapshot_go_counts(s->recorder, stdout);
	} else if (s->o.go_format) {
		snapshot_go_stacks(s->recorder, stdout);
	} else if (s->o.n_repeats > 1 && s->o.fold) {
		snapshot_repeat_print(stdout, &s->repeat, s->recorder);
	} else if (s->o.text || s->o.fold) {
		snapshot_text_head(stdout, s->recorder);
		if (s->o.text)
			snapshot_text_print(stdout, s->recorder);
		else
			r = snapshot_fold_print(stdout, s->recorder);
	} else if (s->o.json) {
		snapshot_json_print(stdout, s->recorder);
	} else if (!s->o.quiet) {
		snapshot_text_head(stderr, s->recorder);
	}
	if (r < 0)
		return err_errno(e, -r, "cannot print the snapshot");
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 :
	       err_errno(e, errno, "cannot write to stdout");
}

static int take(struct shot *s, const struct cprof_kind *kind, struct err *e)
{
	s->o.config.kind = kind;
	int r = cprof_recorder_new(&s->o.config, &s->recorder, e);
	if (r < 0)
		return r;
	r = cprof_recorder_start(s->recorder, e);
	return r < 0 ? r : take_all(s, e);
}

/* Goroutines of processes that are all Go programs, if nothing else is requested. */
static int take_what_there_is(struct shot *s, struct err *e)
{
	const struct snapshot_opts *o = &s->o;
	bool may_be_go = !o->threads && !o->tasks.tids.n && !o->config.all_processes &&
			 o->config.snapshot_stop == CPROF_STOP_NEVER;
	if (o->goroutines)
		return take(s, cprof_goroutine_recorder(), e);
	int r = may_be_go ? take(s, cprof_goroutine_recorder(), e) : -ENOENT;
	/* a refusal is that of threads, which may need more rights */
	if (r != -ENOENT && r != -EACCES && r != -EPERM)
		return r;
	cprof_recorder_free(s->recorder);
	s->recorder = NULL;
	snapshot_repeat_done(&s->repeat);
	s->repeat = (struct snapshot_repeat){ 0 };
	*e = (struct err){ 0 };
	return take(s, cprof_snapshot_recorder(), e);
}

static int run_shot(struct shot *s, struct err *e)
{
	int r = take_what_there_is(s, e);
	if (r < 0)
		return r;
	r = write_output(s, e);
	return r < 0 ? r : print(s, e);
}

static int run_snapshot(int argc, char **argv)
{
	static char name[] = "cprof snapshot";
	struct shot s = { .recorder = NULL };
	struct err e = { 0 };
	argv[0] = name;
	snapshot_opts_parse(&s.o, argc, argv);
	nofile_raise();
	char *cache_dir = cachedir_path();
	s.o.config.cache_dir = cache_dir;
	int r = run_shot(&s, &e);
	int status = r < 0 ? cmd_fail("snapshot", &e) : 0;
	cprof_recorder_free(s.recorder);
	snapshot_repeat_done(&s.repeat);
	snapshot_opts_done(&s.o);
	free(cache_dir);
	return status;
}

const struct cmd cmd_snapshot = {
	.name = "snapshot",
	.help = "show what every thread of a process is doing",
	.argp = &snapshot_opts_argp,
	.run = run_snapshot,
	.is_recording = true,
};
