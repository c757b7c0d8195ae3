/*
 * The files are written under temporary names and appear together.
 */
#include "cmd/record/recordfiles.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/signals.h"
#include "cprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int recordfiles_open(struct recordfiles *f, struct cprof_recorder *recorder, const char *name,
		     const char *stamp, struct err *e)
{
	f->n_events = cprof_recorder_n_events(recorder);
	f->output = calloc(f->n_events, sizeof(*f->output));
	f->file = calloc(f->n_events, sizeof(*f->file));
	f->unfinished = calloc(f->n_events, sizeof(*f->unfinished));
	if (!f->output || !f->file || !f->unfinished)
		return err_errno(e, ENOMEM, "cannot open the output");
	CLEANUP_VEC VEC(const char *) parts = { 0 };
	for (size_t i = 0; i < f->n_events; i++) {
		struct cprof_event_stats ev;
		cprof_recorder_event_stats(recorder, i, &ev);
		if (!VEC_PUSH(&parts, ev.file_part))
			return err_errno(e, ENOMEM, "cannot open the output");
	}
	int r = output_open(f->output, parts.v, f->n_events, name, stamp, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < f->n_events; i++)
		f->unfinished[i] = &f->output[i].file;
	return 0;
}

static void print_problem(const struct recordfiles *f, const struct err *why, bool silent)
{
	if (f->is_part)
		return;
	if (!silent) {
		cmd_fail("record", why);
	} else {
		struct err warning = *why;
		snprintf(warning.what, sizeof(warning.what),
			 "warning: %.900s, so no file is written for it", why->what);
		cmd_fail("record", &warning);
	}
}

/* By what is in the profile. */
static void set_mode(const struct recordfiles *files, struct cprof_recorder *recorder,
		     struct outfile *f)
{
	struct filemode mode = files->mode;
	struct cprof_stats stats;
	cprof_recorder_stats(recorder, &stats);
	if (stats.is_private)
		mode.denied |= FILEMODE_PRIVATE;
	filemode_apply(&mode, f);
}

static int write_one(struct recordfiles *files, struct cprof_recorder *recorder, size_t i,
		     struct err *e)
{
	struct summary_file *f = &files->file[i];
	int r = cprof_recorder_write(recorder, i, output_write, &files->output[i], e);
	if (r < 0) {
		outfile_error(&files->output[i].file, e);  /* names the file */
		return r;
	}
	set_mode(files, recorder, &files->output[i].file);
	f->path = files->output[i].path;
	f->n_bytes = files->output[i].n_bytes;
	files->n_written++;
	return 0;
}

/* The disk is full, but the recording need not be lost.  It remains a failure: the file is not
 * where it was wanted. */
static int save_elsewhere(struct recordfiles *files, struct cprof_recorder *recorder, int code,
			  struct err *e)
{
	struct err other = { 0 };
	char folder[PATH_MAX];
	files->n_written = 0;
	signals_hold();  /* the handler must not see files change */
	if ((code != -ENOSPC && code != -EDQUOT) || files->is_part ||
	    output_elsewhere(files->output, files->n_events, folder) < 0)
		return code;
	int r = 0;
	const char *path = NULL;
	for (size_t i = 0; i < files->n_events && r == 0; i++) {
		if (!files->output[i].open)
			continue;
		r = write_one(files, recorder, i, &other);
		path = files->output[i].path;
	}
	if (r == 0 && path)
		r = output_commit(files->output, files->n_events, &other);
	if (r == 0 && path && files->n_written > 1)
		err_hint(e, "the recording is next to '%s' instead", path);
	else if (r == 0 && path)
		err_hint(e, "the recording is in '%s' instead", path);
	if (r < 0 || !path) {
		recordfiles_discard(files);
		rmdir(folder);
	}
	files->n_written = 0;
	return code;
}

int recordfiles_write(struct recordfiles *files, struct cprof_recorder *recorder, struct err *e)
{
	struct err why, only = { 0 };
	bool failed = false;
	size_t n_silent = 0;
	for (size_t i = 0; i < files->n_events; i++) {
		struct summary_file *f = &files->file[i];
		if (cprof_recorder_check(recorder, i, &f->silent, &why) < 0) {
			output_discard(&files->output[i]);
			f->silent &= files->n_events > 1;
			n_silent += f->silent;
			failed |= !f->silent;
			snprintf(f->problem, sizeof(f->problem), "%.255s", why.what);
			only = why;
			if (files->n_events > 1)
				print_problem(files, &why, f->silent);
			continue;
		}
		int r = write_one(files, recorder, i, e);
		if (r < 0)
			return save_elsewhere(files, recorder, r, e);
	}
	signals_hold();
	int r = files->n_written ? output_commit(files->output, files->n_events, e) : 0;
	if (r < 0)
		return save_elsewhere(files, recorder, r, e);
	if (files->n_events == 1 && only.code) {
		*e = only;
		return only.code;
	}
	if (n_silent == files->n_events)
		return err_set(e, ENODATA, "none of the events happened");
	return failed ? -ENODATA : 0;
}

void recordfiles_discard(struct recordfiles *f)
{
	for (size_t i = 0; i < f->n_events && f->output; i++)
		output_discard(&f->output[i]);
}

void recordfiles_done(struct recordfiles *f)
{
	for (size_t i = 0; i < f->n_events && f->output; i++)
		output_done(&f->output[i]);
	free(f->output);
	free(f->file);
	free(f->unfinished);
	*f = (struct recordfiles){ 0 };
}
