/*
 * Each run is a child process that writes into a temporary folder in /tmp, so that no state
 * survives it.  The mean of a share gives all runs the same weight.  Its standard error comes from
 * the scatter of the runs, so it is valid even if samples are not independent.
 */

#include "cmd/record/repeat.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/strtab.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/record/recordopts.h"
#include "cmd/outputs.h"
#include "cmd/printable.h"
#include "view/model/model-merge.h"
#include "view/model/model.h"
#include "view/table/rows.h"
#include "view/table/top.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define COMPRESSION 6
#define ROWS_SHOWN 20

/* How a function's share varies over the runs. */
struct spread {
	const char *name;
	double mean, deviation, error, min, max;
};

/* The command, and that of --against. */
enum { SIDE_COMMAND, SIDE_AGAINST, N_SIDES };

struct repeating {
	const struct recordopts *opts;
	char folder[64];
	unsigned n;                /* completed runs, of each side */
	int n_sides;
	char note[160];            /* a comment for both profiles */
	struct strtab names;       /* of the command's functions */
	VEC(double) share;         /* [name id * opts->repeat + run] */
};

static void run_path(const struct repeating *r, int side, unsigned run, char buf[96])
{
	snprintf(buf, 96, "%s/%s%u.pb.gz", r->folder, side == SIDE_AGAINST ? "a" : "", run);
}

/* Does one run in a child; returns its exit status. */
static int run_child(const struct repeating *r, int side, unsigned run, repeat_once_fn *once)
{
	pid_t child = fork();
	if (child == 0) {
		char path[96];
		struct recordopts o = *r->opts;
		run_path(r, side, run, path);
		signal(SIGINT, SIG_DFL);
		if (side == SIDE_AGAINST)
			o.target.tasks.command = r->opts->against.command;
		o.output = path;
		o.mode = (struct filemode){ 0 };
		o.quiet = true;
		o.json = false;
		exit(once(&o));
	}
	int status;
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return CMD_FAILED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Adds each function's flat share of a run. */
static int add_run(struct repeating *x, unsigned run, struct err *e)
{
	char path[96];
	const char *paths[] = { path };
	CLEANUP(model_freep) struct model *m = NULL;
	CLEANUP(rows_freep) struct rows *rows = NULL;
	CLEANUP(top_freep) struct top *top = NULL;
	uint32_t type;
	run_path(x, SIDE_COMMAND, run, path);
	int r = model_read_files(paths, 1, &m, e);
	if (r < 0)
		return r;
	r = model_find_type(m, NULL, &type, e);
	if (r < 0)
		return r;
	r = rows_new(m, NULL, ROWS_FUNCTION, NULL, &rows, e);
	if (r < 0)
		return r;
	r = top_new(m, NULL, rows, type, &top, e);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < top->n_rows && top->total; i++) {
		uint32_t name = strtab_add_cstr(&x->names, top_name(top, i)->name);
		if (!VEC_EXTEND(&x->share, (size_t)x->names.n * x->opts->repeat))
			return err_errno(e, ENOMEM, "cannot compare the runs");
		x->share.v[name * x->opts->repeat + run] +=
			(double)top->row[i].flat / (double)top->total;
	}
	return 0;
}

static struct spread measure_spread(const struct repeating *r, uint32_t name)
{
	const double *v = r->share.v + (size_t)name * r->opts->repeat;
	struct spread s = { .name = strtab_get(&r->names, name), .min = v[0], .max = v[0] };
	double squares = 0;
	for (unsigned i = 0; i < r->n; i++) {
		s.mean += v[i] / r->n;
		s.min = fmin(s.min, v[i]);
		s.max = fmax(s.max, v[i]);
	}
	for (unsigned i = 0; i < r->n; i++)
		squares += (v[i] - s.mean) * (v[i] - s.mean);
	s.deviation = r->n > 1 ? sqrt(squares / (r->n - 1)) : 0;
	s.error = s.deviation / sqrt(r->n);
	return s;
}

static int compare_means(const void *a, const void *b)
{
	const struct spread *x = a, *y = b;
	return x->mean != y->mean ? (x->mean < y->mean) - (x->mean > y->mean)
				  : strcmp(x->name, y->name);
}

static void print_table(const struct repeating *r, const struct spread *s, size_t n)
{
	fprintf(stderr, "flat share of %u run%s, in percent:\n", r->n, units_s(r->n));
	fprintf(stderr, "    mean   +- error  deviation     min     max  name\n");
	for (size_t i = 0; i < n && i < ROWS_SHOWN; i++) {
		fprintf(stderr, "%8.2f %10.2f %10.2f %7.2f %7.2f  ", 100 * s[i].mean,
			100 * s[i].error, 100 * s[i].deviation, 100 * s[i].min, 100 * s[i].max);
		printable_text(stderr, s[i].name);
		fputc('\n', stderr);
	}
	if (n > ROWS_SHOWN)
		fprintf(stderr, "and %zu more (--json shows all)\n", n - ROWS_SHOWN);
}

static void print_json(const struct repeating *r, const struct spread *s, size_t n)
{
	printf("{\"runs\": %u, \"functions\": [", r->n);
	for (size_t i = 0; i < n; i++) {
		printf("%s\n  {\"name\": ", i ? "," : "");
		printable_json(stdout, s[i].name);
		printf(", \"mean\": %.6f, \"standard_error\": %.6f, \"deviation\": %.6f, "
		       "\"min\": %.6f, \"max\": %.6f}",
		       s[i].mean, s[i].error, s[i].deviation, s[i].min, s[i].max);
	}
	printf("\n]}\n");
}

static int print_spreads(const struct repeating *r, struct err *e)
{
	size_t n = 0;
	struct spread *s = calloc(r->names.n, sizeof(*s));
	if (!s)
		return err_errno(e, ENOMEM, "cannot compare the runs");
	for (uint32_t i = 1; i < r->names.n; i++) {
		s[n] = measure_spread(r, i);
		n += s[n].max != 0 || s[n].min != 0;
	}
	qsort(s, n, sizeof(*s), compare_means);
	if (!r->opts->quiet)
		print_table(r, s, n);
	if (r->opts->json)
		print_json(r, s, n);
	free(s);
	return r->opts->json && fflush(stdout) != 0
		       ? err_errno(e, errno, "cannot write the comparison to stdout") : 0;
}

static int write_model(void *m, int (*write)(void *ctx, const void *data, size_t n_bytes),
		       void *ctx, struct err *e)
{
	return model_write(m, write, ctx, COMPRESSION, e);
}

/* Merges the runs of a side. */
static int merge_side(const struct repeating *x, int side, struct model **ret,
		      struct filemode *mode, struct err *e)
{
	CLEANUP_FREE char (*path)[96] = calloc(x->n, sizeof(*path));
	CLEANUP_FREE const char **paths = calloc(x->n, sizeof(*paths));
	struct model_merge how = { .numbers_runs = true };
	if (!path || !paths)
		return err_errno(e, ENOMEM, "cannot merge the runs");
	for (unsigned i = 0; i < x->n; i++) {
		run_path(x, side, i, path[i]);
		paths[i] = path[i];
	}
	filemode_add_inputs(mode, paths, x->n);
	int r = model_merge_files(paths, x->n, &how, ret, e);
	return r < 0 ? r : model_add_comment(*ret, x->note, e);
}

/* Writes a profile of each side, and prints how the command's runs differ. */
static int merge_runs(struct repeating *x, struct err *e)
{
	const char *name[N_SIDES] = {
		x->opts->output ? x->opts->output : "cprof.repeat.pb.gz",
		x->opts->against.output,
	};
	struct outputs out[N_SIDES];
	struct model *m[N_SIDES] = { NULL };
	struct filemode mode = x->opts->mode;
	int r = strtab_init(&x->names, NULL) < 0
			? err_errno(e, ENOMEM, "cannot merge the runs") : 0;
	for (unsigned i = 0; r >= 0 && i < x->n; i++)
		r = add_run(x, i, e);
	for (int side = 0; r >= 0 && side < x->n_sides; side++) {
		r = merge_side(x, side, &m[side], &mode, e);
		out[side] = (struct outputs){ name[side], true, write_model, m[side] };
	}
	if (r >= 0)
		r = outputs_write(out, (size_t)x->n_sides, &mode, e);
	for (int side = 0; side < x->n_sides; side++) {
		model_free(m[side]);
		if (r < 0 || x->opts->quiet)
			continue;
		fprintf(stderr, "cprof record: %u run%s -> ", x->n, units_s(x->n));
		printable_text(stderr, name[side]);
		fputc('\n', stderr);
	}
	return r < 0 ? r : print_spreads(x, e);
}

static void remove_runs(struct repeating *r)
{
	for (unsigned i = 0; i < r->opts->repeat; i++) {
		for (int side = 0; side < r->n_sides; side++) {
			char path[96];
			run_path(r, side, i, path);
			unlink(path);
		}
	}
	rmdir(r->folder);
	strtab_done(&r->names);
	VEC_FREE(&r->share);
}

/* The two sides of a comparison have this comment in common (report(1)). */
static void write_note(struct repeating *x)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	if (x->n_sides == N_SIDES)
		snprintf(x->note, sizeof(x->note), MODEL_PAIRS_NOTE "%u runs, in turns with those "
			 "of another command; began at %lld.%06ld", x->opts->repeat,
			 (long long)now.tv_sec, now.tv_nsec / 1000);
	else
		snprintf(x->note, sizeof(x->note), "runs: %u, one after the other",
			 x->opts->repeat);
}

/* One run of each side; which is first alternates.  false: one left no profile. */
static bool run_sides(struct repeating *x, repeat_once_fn *once, int *status)
{
	for (int i = 0; i < x->n_sides && *status < 128; i++) {
		char path[96];
		int side = x->n % 2 ? x->n_sides - 1 - i : i;
		int ended = run_child(x, side, x->n, once);
		*status = *status ? *status : ended;
		run_path(x, side, x->n, path);
		if (access(path, R_OK) < 0)
			return false;
	}
	return true;
}

int repeat_run(struct recordopts *o, repeat_once_fn *once)
{
	struct repeating x = { .opts = o, .folder = "/tmp/cprof-repeat-XXXXXX" };
	struct err e = { 0 };
	int status = 0, r = 0;
	x.n_sides = o->against.command ? N_SIDES : 1;
	if (!mkdtemp(x.folder)) {
		err_errno(&e, errno, "--repeat: cannot create a directory in /tmp");
		return cmd_fail("record", &e);
	}
	write_note(&x);
	signal(SIGINT, SIG_IGN);  /* ends the current run, not this loop */
	while (x.n < o->repeat && status < 128 && run_sides(&x, once, &status))
		x.n++;
	if (x.n == o->repeat)
		r = merge_runs(&x, &e);
	else if (status < 128)
		r = err_set(&e, ENODATA, "--repeat: run %u left no profile; it takes one event",
			       x.n + 1);
	remove_runs(&x);
	return r < 0 ? cmd_fail("record", &e) : status;
}
