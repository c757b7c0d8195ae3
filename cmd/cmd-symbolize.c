/*
 * cprof symbolize: adds names to a profile that was written without them, from files with the same
 * build ids.  Without -o the complete new profile replaces the old one.
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
#include "cmd/printable.h"
#include "cprof-losses.h"
#include "cprof-names.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_SYMFS = 256, OPT_DEBUG_DIR };

struct symbolize {
	struct cprof_symbolize_config config;
	VEC(const char *) debug_dirs;
	const char *output_name;
	struct filemode mode;
	bool quiet, verbose;
	struct log log;
	struct cprof_symbolize_stats stats;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Symbols:", 1 },
	{ "symfs", OPT_SYMFS, "DIR", 0, "Folder that holds the recorded machine's files", 1 },
	{ "debug-dir", OPT_DEBUG_DIR, "DIR", 0,
	  "Also look for programs and debug information by build id in DIR (repeatable)", 1 },
	LIMITOPTS_SYMBOL_TIMEOUT_ROW("10s", 1),

	{ NULL, 0, NULL, 0, "Output:", 2 },
	{ "output", 'o', "FILE", 0, "Where to write; default: FILE itself; - for stdout", 2 },
	FILEMODE_ROW(2),
	{ "quiet", 'q', NULL, 0, "Print errors only", 2 },
	{ "verbose", 'v', NULL, 0, "Explain which files were used, and why not others", 2 },
	{ 0 }
};

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
	case ARGP_KEY_ARG:
		if (s->config.path)
			argp_error(state, "more than one FILE");
		s->config.path = arg;
		break;
	case ARGP_KEY_END:
		if (!s->config.path)
			argp_error(state, "no FILE given");
		filemode_check(&s->mode, state, s->output_name ? s->output_name : s->config.path);
		if (s->quiet && s->verbose)
			argp_error(state, "-q and -v exclude each other");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &nameopts_argp, 0, NULL, 0 }, { 0 } };
static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE",
	.doc = "Add missing names to a profile, from files with the same build ids.",
	.children = children,
};

static void print_loss(const char *key, uint64_t n)
{
	const struct cprof_loss *loss = cprof_loss(cprof_loss_row(key));
	if (n)
		fprintf(stderr, "cprof symbolize: %" PRIu64 " %s (%s)\n", n, loss->words,
			loss->advice);
}

static void print_summary(const struct cprof_symbolize_stats *st, const char *path)
{
	fprintf(stderr, "cprof symbolize: %zu of %zu addresses without names have one now; "
			"%zu of %zu files were found -> ",
		st->n_named, st->n_addresses, st->n_files_found, st->n_files);
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
	int r = symbolize_file(&s, &e);
	free(cache_dir);
	VEC_FREE(&s.debug_dirs);
	return r < 0 ? cmd_fail("symbolize", &e) : 0;
}

const struct cmd cmd_symbolize = {
	.name = "symbolize",
	.help = "add missing names to a profile",
	.argp = &argp,
	.run = run_symbolize,
};
