/* cprof convert: converts profiles between pprof and the formats of other tools. */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/membuf.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/filemode.h"
#include "cmd/optsets.h"
#include "cmd/outputs.h"
#include "cprof-names.h"
#include "view/convert/format.h"
#include "view/convert/from.h"
#include "view/model/model.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPRESSION 6

enum { OPT_TO = 256, OPT_FROM, OPT_SAMPLE_TYPE };

struct convert {
	const char *output, *sample_type;
	struct filemode mode;
	const struct format *to, *from;  /* from: NULL if detected */
	VEC(const char *) paths;
	struct model *m;
	uint32_t type;
	uint64_t n_left_out;
};

static const struct argp_option options[] = {
	{ "to", OPT_TO, "FORMAT", 0, "Output format: {to} (chrome is also for Perfetto); default: "
	  "selected by the output's name", 1 },
	{ "from", OPT_FROM, "FORMAT", 0, "Input format: {from} (the text of perf script); default: "
	  "detected", 1 },
	{ "sample-type", OPT_SAMPLE_TYPE, "TYPE", 0, "The values to convert if the format holds "
	  "only one type; default: the profile's own", 1 },
	{ "output", 'o', "FILE", 0, "The output file; default: -, for stdout", 1 },
	FILEMODE_ROW(1),
	{ 0 }
};

static const struct format *parse_format(enum format_use use, const struct optwords *names,
					 const char *option, const char *arg,
					 struct argp_state *state)
{
	const struct format *f = format_find(use, arg);
	if (!f)
		optwords_parse(names, state, option, arg);  /* reports it */
	return f;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct convert *x = state->input;
	switch (key) {
	case OPT_TO:
		x->to = parse_format(FORMAT_OUTPUT, &optsets_to, "--to", arg, state);
		break;
	case OPT_FROM:
		x->from = parse_format(FORMAT_INPUT, &optsets_from, "--from", arg, state);
		break;
	case OPT_SAMPLE_TYPE: x->sample_type = arg; break;
	case 'o': x->output = arg; break;
	case FILEMODE_KEY: filemode_parse(&x->mode, state, arg); break;
	case ARGP_KEY_ARG:
		if (!VEC_PUSH(&x->paths, arg))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		break;
	case ARGP_KEY_END:
		if (x->paths.n == 0)
			argp_error(state, "no FILE given");
		filemode_check(&x->mode, state, x->output);
		if (!x->to && strcmp(x->output, "-") != 0) {
			x->to = format_of_path(x->output);
			if (!x->to)
				argp_error(state, "the name '%s' does not determine the format; "
						  "use --to FORMAT", x->output);
		}
		if (!x->to)
			argp_error(state, "no format given: use --to FORMAT, or -o with a name "
					  "that determines it");
		break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.help_filter = optwords_help,
	.args_doc = "FILE...",
	.doc = "Convert profiles between pprof and the formats of other tools.  Several files are "
	       "merged.",
};

static int write_converted(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			   void *ctx, struct err *e)
{
	struct convert *x = what;
	if (x->to->is_pprof)
		return model_write(x->m, write, ctx, COMPRESSION, e);
	CLEANUP_FREE struct emit *o = malloc(sizeof(*o));
	if (!o)
		return err_errno(e, ENOMEM, "cannot convert the profile");
	emit_open(o, write, ctx);
	int r = x->to->write(x->m, x->type, o, &x->n_left_out, e);
	return r < 0 ? r : emit_finish(o, e);
}

/* Heap profiles of allocators have addresses, and the names of files that may be here. */
static int add_names(struct convert *x, struct err *e)
{
	struct membuf plain = { .bytes = { 0 } }, named = { .bytes = { 0 } };
	struct cprof_symbolize_stats stats = { 0 };
	struct log log = { .line = cmd_log_line, .ctx = (void *)"convert", .max = LOG_WARN };
	CLEANUP_FREE char *cache_dir = cachedir_path();
	int r = model_write(x->m, membuf_write, &plain, 1, e);
	const struct cprof_symbolize_config config = {
		.data = plain.bytes.v, .n_bytes = plain.bytes.n, .by_path = true,
		.cache_dir = cache_dir, .log = &log,
	};
	if (r == 0)
		r = cprof_symbolize(&config, membuf_write, &named, &stats, e);
	if (r == 0) {
		model_free(x->m);
		x->m = NULL;
		r = model_read(named.bytes.v, named.bytes.n, &x->m, e);
	}
	if (r == 0 && stats.n_named < stats.n_addresses)
		fprintf(stderr, "cprof convert: %zu of %zu addresses %s no name; %zu of %zu "
				"files %s found\n", stats.n_addresses - stats.n_named,
			stats.n_addresses,
			units_word(stats.n_addresses - stats.n_named, "has", "have"),
			stats.n_files_found, stats.n_files,
			units_word(stats.n_files_found, "was", "were"));
	VEC_FREE(&plain.bytes);
	VEC_FREE(&named.bytes);
	return r;
}

static int convert(struct convert *x, struct err *e)
{
	filemode_add_inputs(&x->mode, x->paths.v, x->paths.n);
	int r = from_read_files(x->paths.v, x->paths.n, &x->from, &x->m, e);
	if (r == 0 && x->from && x->from->has_addresses)
		r = add_names(x, e);
	if (r < 0)
		return r;
	r = model_find_type(x->m, x->sample_type, &x->type, e);
	if (r < 0)
		return r;
	r = outputs_write(&(struct outputs){ x->output, x->to->is_pprof, write_converted, x }, 1,
			  &x->mode, e);
	if (r < 0)
		return r;
	if (x->n_left_out > 0)
		fprintf(stderr, "cprof convert: %" PRIu64 " sample%s with negative values left "
				"out: %s has no negative values\n", x->n_left_out,
			units_s(x->n_left_out), x->to->name);
	return 0;
}

static int run_convert(int argc, char **argv)
{
	struct convert x = { .output = "-" };
	struct err e = { 0 };
	argp_parse(&argp, argc, argv, 0, NULL, &x);
	int r = convert(&x, &e);
	model_free(x.m);
	VEC_FREE(&x.paths);
	return r < 0 ? cmd_fail("convert", &e) : 0;
}

const struct cmd cmd_convert = {
	.name = "convert",
	.help = "convert profiles to and from other formats",
	.argp = &argp,
	.run = run_convert,
};
