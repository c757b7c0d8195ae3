/*
 * The files are written under temporary names and appear together.
 */
#include "cmd/record/recordfiles.h"

#include "base/err.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/signals.h"
#include "cprof.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

int recordfiles_open(struct recordfiles *f, struct cprof_recorder *r, const char *name,
		     const char *stamp, struct err *e)
{
	f->n_events = cprof_recorder_n_events(r);
	f->output = calloc(f->n_events, sizeof(*f->output));
	f->file = calloc(f->n_events, sizeof(*f->file));
	f->unfinished = calloc(f->n_events, sizeof(*f->unfinished));
	if (!f->output || !f->file || !f->unfinished)
		return err_errno(e, ENOMEM, "cannot open the output");
	VEC(const char *) parts = { 0 };
	for (size_t i = 0; i < f->n_events; i++) {
		struct cprof_event_stats ev;
		cprof_recorder_event_stats(r, i, &ev);
		if (!VEC_PUSH(&parts, ev.file_part)) {
			VEC_FREE(&parts);
			return err_errno(e, ENOMEM, "cannot open the output");
		}
	}
	int code = output_open(f->output, parts.v, f->n_events, name, stamp, e);
	VEC_FREE(&parts);
	for (size_t i = 0; code == 0 && i < f->n_events; i++)
		f->unfinished[i] = f->output[i].file.tmp_path;
	return code;
}

static void print_problem(const struct recordfiles *f, const struct err *why, bool silent)
{
	if (f->is_part)
		return;
	if (!silent) {
		cmd_fail("record", why);
	} else if (!f->quiet) {
		struct err warning = *why;
		snprintf(warning.what, sizeof(warning.what),
			 "warning: %.900s, so no file is written for it", why->what);
		cmd_fail("record", &warning);
	}
}

int recordfiles_write(struct recordfiles *files, struct cprof_recorder *r, struct err *e)
{
	struct err why, only = { 0 };
	bool failed = false;
	size_t n_silent = 0;
	for (size_t i = 0; i < files->n_events; i++) {
		struct summary_file *f = &files->file[i];
		if (cprof_recorder_check(r, i, &f->silent, &why) < 0) {
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
		int code = cprof_recorder_write(r, i, output_write, &files->output[i], e);
		if (code < 0) {
			outfile_error(&files->output[i].file, e);  /* names the file */
			files->n_written = 0;
			return code;
		}
		f->path = files->output[i].path;
		f->n_bytes = files->output[i].n_bytes;
		files->n_written++;
	}
	signals_hold();
	int code = files->n_written ? output_commit(files->output, files->n_events, e) : 0;
	if (code < 0) {
		files->n_written = 0;
		return code;
	}
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
