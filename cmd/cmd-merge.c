/* cprof merge: merges profiles with the same sample types, a few or those of a fleet. */

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/filemode.h"
#include "cmd/mergeby.h"
#include "cmd/optparse.h"
#include "cmd/outputs.h"
#include "cmd/pathlist.h"
#include "cmd/printable.h"
#include "view/model/model-merge.h"
#include "view/model/model.h"

#include <argp.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define COMPRESSION 6
#define COMMENTS_MAX 1000
#define WINDOW_NS 10000000000u
#define BYTES_MAX (2ull << 30)
#define SKIPPED_SHOWN_MAX 5u
#define THREADS_MAX 8u
#define FILES_PER_THREAD 200u   /* fewer are merged before a thread has started to gain */

enum {
	OPT_BY = 1000,
	OPT_DROP_LABEL,
	OPT_FILES_FROM,
	OPT_KEEP_WINDOWS,
	OPT_MAX_MEMORY,
	OPT_RUNS,
	OPT_SKIP_BAD,
	OPT_THREADS,
};

struct merge {
	const char *output, *by, *files_from;
	struct filemode mode;
	struct pathlist paths;
	VEC(char *) dropped;
	struct model_merge how;
	bool skips_bad;
	size_t n_skipped;
	struct { size_t index; struct err why; } first_skipped[SKIPPED_SHOWN_MAX];
	struct model *m;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "The output file, - for stdout; with --by a directory", 1 },
	{ "by", OPT_BY, "LABEL", 0,
	  "Write one profile for each value of LABEL into the directory of -o", 1 },
	FILEMODE_ROW(1),

	{ NULL, 0, NULL, 0, "Input:", 2 },
	{ "files-from", OPT_FILES_FROM, "LIST", 0,
	  "Also merge the files in LIST, one a line or separated by NULs; - for stdin", 2 },
	{ "skip-bad", OPT_SKIP_BAD, NULL, 0,
	  "Leave out files that cannot be read or do not fit, and count them", 2 },

	{ NULL, 0, NULL, 0, "Labels:", 3 },
	{ "drop-label", OPT_DROP_LABEL, "LABEL[,LABEL]", 0,
	  "Remove these labels, so that more samples are equal (repeatable)", 3 },
	{ "keep-windows", OPT_KEEP_WINDOWS, "TIME", OPTION_ARG_OPTIONAL,
	  "Label samples with the time of their file, rounded down to TIME; default: 10s", 3 },
	{ "runs", OPT_RUNS, NULL, 0,
	  "Each FILE is one run of a program: label samples with its number", 3 },

	{ NULL, 0, NULL, 0, "Limits:", 4 },
	{ "max-memory", OPT_MAX_MEMORY, "SIZE", 0,
	  "Memory for the merged profile; default: 2G", 4 },
	{ "threads", OPT_THREADS, "N", 0,
	  "Merge with N threads; default: by the files and the CPUs", 4 },
	{ 0 }
};

static void drop_labels(struct merge *x, struct argp_state *state, const char *arg)
{
	char *copy = strdup(arg), *rest = copy;
	if (!copy)
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	for (char *key; (key = strsep(&rest, ","));) {
		if (!*key)
			argp_error(state, "bad list of labels '%s'", arg);
		if (!VEC_PUSH(&x->dropped, strdup(key)))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	}
	free(copy);
}

static void check_end(struct merge *x, struct argp_state *state)
{
	if (x->paths.path.n == 0 && !x->files_from)
		argp_error(state, "no FILE given");
	if (!x->output)
		argp_error(state, x->by ? "no output given: -o FOLDER"
					: "no output given: -o FILE, or -o - for stdout");
	if (x->by && strcmp(x->output, "-") == 0)
		argp_error(state, "--by writes several files: -o FOLDER");
	for (size_t i = 0; x->by && i < x->dropped.n; i++)
		if (strcmp(x->dropped.v[i], x->by) == 0)
			argp_error(state, "--by and --drop-label have the same label '%s'", x->by);
	filemode_check(&x->mode, state, x->output);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge *x = state->input;
	switch (key) {
	case 'o': x->output = arg; break;
	case FILEMODE_KEY: filemode_parse(&x->mode, state, arg); break;
	case OPT_BY:
		if (!*arg)
			argp_error(state, "--by needs a label");
		x->by = arg;
		break;
	case OPT_DROP_LABEL: drop_labels(x, state, arg); break;
	case OPT_FILES_FROM:
		if (x->files_from)
			argp_error(state, "second --files-from");
		x->files_from = arg;
		break;
	case OPT_KEEP_WINDOWS:
		x->how.window_ns = arg ? optparse_time(state, "--keep-windows", arg, 1000000u,
						       UINT64_MAX) : WINDOW_NS;
		break;
	case OPT_MAX_MEMORY:
		x->how.n_bytes_max = optparse_size(state, "--max-memory", arg);
		break;
	case OPT_RUNS: x->how.numbers_runs = true; break;
	case OPT_SKIP_BAD: x->skips_bad = true; break;
	case OPT_THREADS:
		x->how.n_threads = (uint32_t)optparse_number(state, "--threads", arg, 1,
							     MODEL_MERGE_THREADS_MAX);
		break;
	case ARGP_KEY_ARG:
		if (!VEC_PUSH(&x->paths.path, arg))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		break;
	case ARGP_KEY_END: check_end(x, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE...",
	.doc = "Merge profiles with the same sample types into one.",
};

static uint32_t choose_threads(size_t n_files)
{
	cpu_set_t set;
	int n_cpus = sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
	size_t n = n_files / FILES_PER_THREAD;
	if (n > (size_t)n_cpus)
		n = (size_t)n_cpus;
	return n > THREADS_MAX ? THREADS_MAX : n ? (uint32_t)n : 1;
}

/* Keeps those that come first. */
static void skip(void *ctx, size_t index, const struct err *why)
{
	struct merge *x = ctx;
	size_t k = x->n_skipped++;
	if (k >= SKIPPED_SHOWN_MAX)
		k = SKIPPED_SHOWN_MAX - 1;
	if (x->n_skipped > SKIPPED_SHOWN_MAX && x->first_skipped[k].index < index)
		return;
	for (; k > 0 && x->first_skipped[k - 1].index > index; k--)
		x->first_skipped[k] = x->first_skipped[k - 1];
	x->first_skipped[k].index = index;
	x->first_skipped[k].why = *why;
}

static void report_skipped(const struct merge *x)
{
	size_t n = x->n_skipped < SKIPPED_SHOWN_MAX ? x->n_skipped : SKIPPED_SHOWN_MAX;
	if (!x->n_skipped)
		return;
	fprintf(stderr, "cprof merge: %zu of %zu files %s left out\n", x->n_skipped,
		x->paths.path.n, units_word(x->n_skipped, "is", "are"));
	for (size_t i = 0; i < n; i++) {
		fputs("  ", stderr);
		printable_text(stderr, x->first_skipped[i].why.what);
		fputc('\n', stderr);
	}
	if (n < x->n_skipped)
		fprintf(stderr, "  and %zu more\n", x->n_skipped - n);
}

static int write_profile(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			 void *ctx, struct err *e)
{
	const struct merge *x = what;
	return model_write(x->m, write, ctx, COMPRESSION, e);
}

static int read_files(struct merge *x, struct err *e)
{
	int r = x->files_from ? pathlist_read(&x->paths, x->files_from, e) : 0;
	if (r < 0)
		return r;
	size_t n = x->paths.path.n;
	if (n == 0)
		return err_set(e, EINVAL, "the list '%s' names no files", x->files_from);
	x->how.dropped_label = (const char *const *)x->dropped.v;
	x->how.n_dropped_labels = x->dropped.n;
	x->how.n_comments_max = COMMENTS_MAX;
	x->how.skip = x->skips_bad ? skip : NULL;
	x->how.ctx = x;
	if (!x->how.n_threads)
		x->how.n_threads = choose_threads(n);
	filemode_add_inputs(&x->mode, x->paths.path.v, n);
	r = model_merge_files(x->paths.path.v, n, &x->how, &x->m, e);
	if (r < 0)
		return r;
	report_skipped(x);
	if (x->m->n_files == 0)
		return err_set(e, EINVAL, "none of the files can be merged");
	if (x->m->has_less_comments)
		fprintf(stderr, "cprof merge: comments after the first %d are left out\n",
			COMMENTS_MAX);
	return 0;
}

static int merge(struct merge *x, struct err *e)
{
	int r = read_files(x, e);
	if (r < 0)
		return r;
	if (x->by)
		return mergeby_write(x->m, x->by, x->output, &x->mode, COMPRESSION, e);
	return outputs_write(&(struct outputs){ x->output, true, write_profile, x }, 1, &x->mode,
			     e);
}

static int run_merge(int argc, char **argv)
{
	struct merge x = { .how.n_bytes_max = BYTES_MAX };
	struct err e = { 0 };
	argp_parse(&argp, argc, argv, 0, NULL, &x);
	int r = merge(&x, &e);
	model_free(x.m);
	pathlist_done(&x.paths);
	for (size_t i = 0; i < x.dropped.n; i++)
		free(x.dropped.v[i]);
	VEC_FREE(&x.dropped);
	return r < 0 ? cmd_fail("merge", &e) : 0;
}

const struct cmd cmd_merge = {
	.name = "merge",
	.help = "merge several profiles into one",
	.argp = &argp,
	.run = run_merge,
};
