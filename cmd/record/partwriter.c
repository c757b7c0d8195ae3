/*
 * fork(2) makes the copy: the child has everything recorded up to that moment, copied page by page
 * on write, while its parent continues or starts afresh.  The child reports the names of the files
 * it wrote through a pipe; the end of the pipe also signals that it is done.
 */
#include "cmd/record/partwriter.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/childnames.h"
#include "cmd/cmd.h"
#include "cmd/printable.h"
#include "cmd/record/recordfiles.h"
#include "cmd/record/rotate.h"
#include "cmd/record/summary.h"
#include "cprof.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

void partwriter_stamp(struct partwriter *p, struct cprof_recorder *r, char *ret)
{
	struct cprof_stats stats;
	cprof_recorder_stats(r, &stats);
	rotate_stamp(stats.end_realtime_ns, &p->last_stamp, ret);
}

/* ---- the child ------------------------------------------------------------------------ */

static void report_files(const struct recordfiles *f, struct cprof_recorder *r, int fd, bool quiet)
{
	for (size_t i = 0; i < f->n_events; i++) {
		const char *path = f->file[i].path;
		if (!path)
			continue;
		struct cprof_event_stats ev;
		char size[UNITS_TEXT_MAX];
		cprof_recorder_event_stats(r, i, &ev);
		if (!quiet) {
			fprintf(stderr, "%llu sample%s of ", (unsigned long long)ev.n_samples,
				units_s(ev.n_samples));
			printable_text(stderr, ev.name);
			fputs(" -> ", stderr);
			printable_text(stderr, path);
			fprintf(stderr, " (%s)\n", units_size_text(f->file[i].n_bytes, size));
		}
		for (size_t n = strlen(path) + 1; n > 0;) {
			ssize_t got = write(fd, path, n);
			if (got <= 0)
				return;
			path += got;
			n -= (size_t)got;
		}
	}
}

/* Prints the JSON summary; the status says whether anything was lost. */
static int summarize(const struct partwriter *p, const struct recordfiles *f,
		     struct cprof_recorder *r, double own_cpu_s)
{
	struct err e;
	struct summary s = { .recorder = r, .file = f->file, .own_cpu_s = own_cpu_s,
			     .realtime = realtime_state(p->realtime) };
	if (p->json) {
		summary_print_json(&s, stdout);
		if (fflush(stdout) != 0) {
			err_errno(&e, errno, "cannot write the summary to stdout");
			return cmd_fail("record", &e);
		}
	}
	return p->strict && summary_has_losses(&s) ? CMD_LOSSES : 0;
}

/* An event without samples gets no file.  That is no failure: others may have some. */
static int write_part(const struct partwriter *p, struct cprof_recorder *recorder,
		      const char *stamp, int fd, double own_cpu_s)
{
	struct err e = { 0 };
	CLEANUP(recordfiles_done) struct recordfiles f = {
		.is_part = true, .mode = p->mode,
	};
	int r = recordfiles_open(&f, recorder, p->output, stamp, &e);
	if (r < 0)
		goto failed;
	r = recordfiles_write(&f, recorder, &e);
	if (r < 0 && r != -ENODATA)
		goto failed;
	if (r == -ENODATA && f.n_written == 0 && !p->quiet)
		fprintf(stderr, "no samples, so no file is written\n");
	report_files(&f, recorder, fd, p->quiet);
	childnames_send(p->names_fd, recorder);
	return summarize(p, &f, recorder, own_cpu_s);
failed:
	cmd_fail("record", &e);
	return CMD_FAILED;
}

int partwriter_begin(struct partwriter *p, struct cprof_recorder *recorder, struct err *e)
{
	int fd[2];
	char stamp[ROTATE_STAMP_MAX];
	if (pipe2(fd, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_errno(e, errno, "cannot write a part of the profile");
	partwriter_stamp(p, recorder, stamp);
	fflush(NULL);
	double own_cpu_s = summary_own_cpu_s();
	p->names_fd = childnames_open();
	p->recorder = recorder;
	pid_t pid = fork();
	if (pid == 0) {
		close(fd[0]);
		fcntl(fd[1], F_SETFL, 0);
		int status = write_part(p, recorder, stamp, fd[1], own_cpu_s);
		fflush(stderr);
		_exit(status);
	}
	int r = pid < 0 ? err_errno(e, errno, "cannot write a part of the profile") : 0;
	close(fd[1]);
	if (r < 0) {
		close(fd[0]);
		childnames_take(p->names_fd, recorder);
		return r;
	}
	p->pid = pid;
	p->fd = fd[0];
	return 0;
}

/* ---- the parent ------------------------------------------------------------------------ */

bool partwriter_poll(struct partwriter *p, bool wait)
{
	char buf[4096];
	ssize_t n;
	int status;
	if (!p->pid)
		return false;
	if (wait)
		fcntl(p->fd, F_SETFL, 0);
	while ((n = read(p->fd, buf, sizeof(buf))) > 0 || (n < 0 && errno == EINTR)) {
		if (n > 0 && VEC_RESERVE(&p->reported, (size_t)n)) {
			memcpy(p->reported.v + p->reported.n, buf, (size_t)n);
			p->reported.n += (size_t)n;
		}
	}
	if (n < 0)
		return false;
	pid_t got;
	do
		got = waitpid(p->pid, &status, 0);
	while (got < 0 && errno == EINTR);
	childnames_take(p->names_fd, p->recorder);
	close(p->fd);
	p->fd = -1;
	p->pid = 0;
	int ended = got > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : CMD_FAILED;
	p->n_with_losses += ended == CMD_LOSSES;
	p->n_failed += ended != 0 && ended != CMD_LOSSES;
	if (p->reported.n)
		partwriter_keep(p, p->reported.v, p->reported.n);
	p->reported.n = 0;
	return true;
}

static void drop_oldest(struct partwriter *p, bool remove)
{
	struct partwriter_names *first = &p->kept.v[0];
	for (size_t at = 0; remove && at < first->n_bytes; at += strlen(first->text + at) + 1)
		outfile_remove(first->text + at);
	free(first->text);
	p->kept.n--;
	memmove(first, first + 1, p->kept.n * sizeof(*first));
}

void partwriter_keep(struct partwriter *p, const char *names, size_t n_bytes)
{
	p->n_written++;
	if (!p->max_kept)
		return;
	/* Without memory this part is never removed. */
	char *text = malloc(n_bytes);
	if (!text)
		return;
	memcpy(text, names, n_bytes);
	if (!VEC_PUSH(&p->kept, ((struct partwriter_names){ text, n_bytes })))
		free(text);
	while (p->kept.n > p->max_kept)
		drop_oldest(p, true);
}

void partwriter_done(struct partwriter *p)
{
	partwriter_poll(p, true);
	while (p->kept.n)
		drop_oldest(p, false);
	VEC_FREE(&p->kept);
	VEC_FREE(&p->reported);
}
