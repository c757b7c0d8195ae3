/*
 * cprof symbolize: adds names to profiles that were written without them, from files with the same
 * build ids.  Without -o the complete new profile replaces the old one.  Of many profiles, all
 * addresses are collected first, so that each file is opened once.
 */

#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/filemode.h"
#include "cmd/limitopts.h"
#include "cmd/nameopts.h"
#include "cmd/optparse.h"
#include "cmd/outputs.h"
#include "cmd/pathlist.h"
#include "cmd/printable.h"
#include "cprof-losses.h"
#include "cprof-names.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_SYMFS = 256, OPT_DEBUG_DIR, OPT_FILES_FROM, OPT_SKIP_BAD };

#define SKIPPED_SHOWN_MAX 5u

struct symbolize {
	struct cprof_symbolize_config config;
	VEC(const char *) debug_dirs;
	const char *output_name, *files_from;
	struct pathlist paths;
	struct filemode mode;
	bool quiet, verbose, skips_bad;
	size_t n_skipped;
	struct cprof_symbolizer *many;
	const char *writes;            /* of many: the profile that is being written */
	struct log log;
	struct cprof_symbolize_stats stats;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Symbols:", 1 },
	{ "symfs", OPT_SYMFS, "DIR", 0, "Folder that holds the recorded machine's files", 1 },
	{ "debug-dir", OPT_DEBUG_DIR, "DIR", 0,
	  "Also look for programs and debug information by build id in DIR (repeatable)", 1 },
	LIMITOPTS_SYMBOL_TIMEOUT_ROW("10s", 1),

	{ NULL, 0, NULL, 0, "Many profiles:", 2 },
	{ "files-from", OPT_FILES_FROM, "LIST", 0,
	  "Also the profiles in LIST, one a line or separated by NULs; - for stdin", 2 },
	{ "skip-bad", OPT_SKIP_BAD, NULL, 0,
	  "Leave profiles that cannot be read or written as they are, and count them", 2 },

	{ NULL, 0, NULL, 0, "Output:", 3 },
	{ "output", 'o', "FILE", 0, "Where to write; default: FILE itself; - for stdout", 3 },
	FILEMODE_ROW(3),
	{ "quiet", 'q', NULL, 0, "Print errors only", 3 },
	{ "verbose", 'v', NULL, 0, "Explain which files were used, and why not others", 3 },
	{ 0 }
};

static bool is_one(const struct symbolize *s)
{
	return s->paths.path.n == 1 && !s->files_from;
}

static void check_end(struct symbolize *s, struct argp_state *state)
{
	if (s->paths.path.n == 0 && !s->files_from)
		argp_error(state, "no FILE given");
	if (!is_one(s) && s->output_name)
		argp_error(state, "-o is for one FILE; several are replaced");
	if (is_one(s) && s->skips_bad)
		argp_error(state, "--skip-bad is for several FILEs");
	if (is_one(s))
		s->config.path = s->paths.path.v[0];
	filemode_check(&s->mode, state, s->output_name ? s->output_name
				      : is_one(s) ? s->config.path : "");
	if (s->quiet && s->verbose)
		argp_error(state, "-q and -v cannot be combined");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct symbolize *s = state->input;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &s->config.naming; break;
	case OPT_SYMFS: s->config.symfs = arg; break;
	case OPT_DEBUG_DIR:
		optparse_append(state, arg, &s->debug_dirs.v, &s->debug_dirs.n, &s->debug_dirs.cap);
		break;
	case LIMITOPTS_SYMBOL_TIMEOUT:
		s->config.symbol_timeout_ns = limitopts_symbol_timeout(state, arg);
		break;
	case 'o': s->output_name = arg; break;
	case 'q': s->quiet = true; break;
	case 'v': s->verbose = true; break;
	case FILEMODE_KEY: filemode_parse(&s->mode, state, arg); break;
	case OPT_FILES_FROM:
		if (s->files_from)
			argp_error(state, "second --files-from");
		s->files_from = arg;
		break;
	case OPT_SKIP_BAD: s->skips_bad = true; break;
	case ARGP_KEY_ARG:
		if (!VEC_PUSH(&s->paths.path, arg))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		break;
	case ARGP_KEY_END: check_end(s, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &nameopts_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE...",
	.doc = "Add missing names to profiles, from files with the same build ids.",
	.children = children,
};

static void print_loss(const char *key, uint64_t n)
{
	const struct cprof_loss *loss = cprof_loss(cprof_loss_row(key));
	if (n)
		fprintf(stderr, "cprof symbolize: %" PRIu64 " %.*s%s (%s)\n", n,
			units_first_word(n, loss->words), loss->words,
			loss->words + strcspn(loss->words, " "), loss->advice);
}

static void print_summary(const struct cprof_symbolize_stats *st, const char *path)
{
	fprintf(stderr, "cprof symbolize: %zu of %zu addresses without names %s one now; "
			"%zu of %zu files %s found -> ",
		st->n_named, st->n_addresses, units_word(st->n_named, "has", "have"),
		st->n_files_found, st->n_files, units_word(st->n_files_found, "was", "were"));
	printable_text(stderr, path);
	fputc('\n', stderr);
	print_loss("symbol_timeouts", st->n_symbol_timeouts);
	print_loss("debug_misfits", st->n_debug_misfits);
	print_loss("unanswered", st->n_unanswered);
	print_loss("no_descriptors", st->n_no_descriptors);
}

static int write_symbolized(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			    void *ctx, struct err *e)
{
	struct symbolize *s = what;
	return cprof_symbolize(&s->config, write, ctx, &s->stats, e);
}

static int symbolize_file(struct symbolize *s, struct err *e)
{
	const char *name = s->output_name ? s->output_name : s->config.path;
	filemode_add_inputs(&s->mode, &s->config.path, 1);
	int r = outputs_write(&(struct outputs){ name, true, write_symbolized, s }, 1, &s->mode,
			      e);
	if (r < 0)
		return r;
	if (!s->quiet)
		print_summary(&s->stats, name);
	return 0;
}

/* ---- many profiles ------------------------------------------------------------------- */

static int write_one(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
		     void *ctx, struct err *e)
{
	struct symbolize *s = what;
	return cprof_symbolizer_write(s->many, s->writes, write, ctx, e);
}

/* A failure of one profile; it is left out, or ends the program. */
static int failed(struct symbolize *s, const char **path, struct err *e)
{
	if (!s->skips_bad)
		return e->code;
	if (s->n_skipped++ < SKIPPED_SHOWN_MAX && !s->quiet) {
		fputs("cprof symbolize: left out: ", stderr);
		printable_text(stderr, e->what);
		fputc('\n', stderr);
	}
	*path = NULL;
	*e = (struct err){ 0 };
	return 0;
}

static int collect_all(struct symbolize *s, struct err *e)
{
	for (size_t i = 0; i < s->paths.path.n; i++) {
		const char **path = &s->paths.path.v[i];
		int r = cprof_symbolizer_collect(s->many, *path, e);
		if (r < 0 && (r == -ENOMEM || failed(s, path, e) < 0))
			return r;
	}
	return cprof_symbolizer_resolve(s->many, e);
}

/* Each profile is replaced when it is complete, with the permissions that it has. */
static int write_all(struct symbolize *s, size_t *ret_n, struct err *e)
{
	for (size_t i = 0; i < s->paths.path.n; i++) {
		const char **path = &s->paths.path.v[i];
		struct filemode mode = s->mode;
		if (!*path)
			continue;
		s->writes = *path;
		filemode_add_inputs(&mode, path, 1);
		int r = outputs_write(&(struct outputs){ *path, true, write_one, s }, 1, &mode, e);
		if (r < 0 && failed(s, path, e) < 0)
			return r;
		*ret_n += r == 0;
	}
	return 0;
}

static int symbolize_many(struct symbolize *s, struct err *e)
{
	char text[64];
	size_t n = 0;
	int r = s->files_from ? pathlist_read(&s->paths, s->files_from, e) : 0;
	if (r == 0 && s->paths.path.n == 0)
		r = err_set(e, EINVAL, "the list '%s' names no files", s->files_from);
	if (r == 0)
		r = cprof_symbolizer_new(&s->config, &s->many, e);
	if (r == 0)
		r = collect_all(s, e);
	if (r == 0)
		r = write_all(s, &n, e);
	if (r < 0)
		return r;
	if (n == 0)
		return err_set(e, EINVAL, "none of the files could be named");
	cprof_symbolizer_stats(s->many, &s->stats);
	snprintf(text, sizeof(text), "%zu profile%s", n, units_s(n));
	if (!s->quiet)
		print_summary(&s->stats, text);
	if (s->n_skipped && !s->quiet)
		fprintf(stderr, "cprof symbolize: %zu of %zu profiles %s left unchanged\n",
			s->n_skipped, s->paths.path.n, units_word(s->n_skipped, "is", "are"));
	return 0;
}

static int run_symbolize(int argc, char **argv)
{
	struct symbolize s = { .log = { .line = cmd_log_line, .ctx = (void *)"symbolize" } };
	struct err e = { 0 };
	argp_parse(&argp, argc, argv, 0, NULL, &s);
	s.log.max = s.verbose ? LOG_EXPLAIN : LOG_NOTE;
	if (s.quiet)
		s.log.line = NULL;
	s.config.debug_dir = s.debug_dirs.v;
	s.config.n_debug_dirs = s.debug_dirs.n;
	s.config.log = &s.log;
	char *cache_dir = cachedir_path();
	s.config.cache_dir = cache_dir;
	int r = is_one(&s) ? symbolize_file(&s, &e) : symbolize_many(&s, &e);
	cprof_symbolizer_free(s.many);
	free(cache_dir);
	pathlist_done(&s.paths);
	VEC_FREE(&s.debug_dirs);
	return r < 0 ? cmd_fail("symbolize", &e) : 0;
}

const struct cmd cmd_symbolize = {
	.name = "symbolize",
	.help = "add missing names to profiles",
	.argp = &argp,
	.run = run_symbolize,
};
