/* cprof convert: profiles into and out of the formats of other tools (conv.h, from.h). */

#include "base/err.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/optsets.h"
#include "cmd/outputs.h"
#include "view/convert/conv.h"
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

typedef int conv_fn(const struct model *m, uint32_t type, struct emit *o,
		    uint64_t *ret_n_left_out, struct err *e);

static const struct format {
	const char *name;
	const char *ending[4];  /* of the output's name; the first format that matches counts */
	conv_fn *convert;       /* NULL: pprof */
} formats[] = {
	{ "pprof", { ".pb.gz", ".pprof", ".prof", ".pb" }, NULL },
	{ "folded", { ".folded", ".collapsed", ".txt" }, conv_folded },
	{ "speedscope", { ".speedscope.json", ".speedscope" }, conv_speedscope },
	{ "chrome", { ".trace.json", ".perfetto.json", ".chrome.json", ".trace" }, conv_chrome },
	{ "firefox", { ".firefox.json", ".profile.json", ".firefox" }, conv_firefox },
};
#define N_FORMATS (sizeof(formats) / sizeof(*formats))

struct convert {
	const char *output, *sample_type;
	const struct format *to;
	enum from_format from;
	VEC(const char *) paths;
	struct model *m;
	uint32_t type;
	uint64_t n_left_out;
};

static const struct argp_option options[] = {
	{ "to", OPT_TO, "FORMAT", 0, "What to write: {to}; Perfetto reads chrome; default: by "
	  "the name of the output", 1 },
	{ "from", OPT_FROM, "FORMAT", 0, "What to read: {from}; default: detected", 1 },
	{ "sample-type", OPT_SAMPLE_TYPE, "TYPE", 0, "Which values, where the format has room for "
	  "one type only; default: the profile's own", 1 },
	{ "output", 'o', "FILE", 0, "Where to; default: -, for stdout", 1 },
	{ 0 }
};

static const char *format_at(size_t i)
{
	return i < N_FORMATS ? formats[i].name : NULL;
}
const struct optwords convert_to = { .name = "to", .name_at = format_at };

static const struct format *guess_format(const char *path)
{
	size_t n = strlen(path);
	for (size_t i = 0; i < N_FORMATS; i++) {
		for (size_t k = 0; k < 4 && formats[i].ending[k]; k++) {
			size_t len = strlen(formats[i].ending[k]);
			if (n > len && strcmp(path + n - len, formats[i].ending[k]) == 0)
				return &formats[i];
		}
	}
	return NULL;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct convert *x = state->input;
	switch (key) {
	case OPT_TO:
		x->to = &formats[optwords_parse(&convert_to, state, "--to",
						strcmp(arg, "perfetto") == 0 ? "chrome" : arg)];
		break;
	case OPT_FROM:
		x->from = (enum from_format)optwords_parse(&optsets_from, state, "--from", arg);
		break;
	case OPT_SAMPLE_TYPE: x->sample_type = arg; break;
	case 'o': x->output = arg; break;
	case ARGP_KEY_ARG:
		if (!VEC_PUSH(&x->paths, arg))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		break;
	case ARGP_KEY_END:
		if (x->paths.n == 0)
			argp_error(state, "no FILE given");
		if (!x->to && strcmp(x->output, "-") != 0) {
			x->to = guess_format(x->output);
			if (!x->to)
				argp_error(state, "cannot tell the format by the name '%s'; use "
						  "--to FORMAT", x->output);
		}
		if (!x->to)
			argp_error(state, "no format given: --to FORMAT, or -o with a name that "
					  "tells it");
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
	.doc = "Convert profiles into and out of the formats of other tools.  Several files are "
	       "merged.",
};

static int write_converted(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			   void *ctx, struct err *e)
{
	struct convert *x = what;
	if (!x->to->convert)
		return model_write(x->m, write, ctx, COMPRESSION, e);
	struct emit *o = malloc(sizeof(*o));
	if (!o)
		return err_errno(e, ENOMEM, "cannot convert the profile");
	emit_open(o, write, ctx);
	int code = x->to->convert(x->m, x->type, o, &x->n_left_out, e);
	if (code == 0)
		code = emit_finish(o, e);
	free(o);
	return code;
}

static int convert(struct convert *x, struct err *e)
{
	int code = from_read_files(x->paths.v, x->paths.n, x->from, &x->m, e);
	if (code == 0)
		code = model_find_type(x->m, x->sample_type, &x->type, e);
	if (code == 0)
		code = outputs_write(&(struct outputs){ x->output, !x->to->convert, write_converted,
						      x }, 1, e);
	if (code == 0 && x->n_left_out > 0)
		fprintf(stderr, "cprof convert: %" PRIu64 " samples with negative values are left "
				"out: %s has no room for them\n", x->n_left_out, x->to->name);
	return code;
}

static int run_convert(int argc, char **argv)
{
	struct convert x = { .output = "-" };
	struct err e = { 0 };
	argp_parse(&argp, argc, argv, 0, NULL, &x);
	int code = convert(&x, &e);
	model_free(x.m);
	VEC_FREE(&x.paths);
	return code < 0 ? cmd_fail("convert", &e) : 0;
}

const struct cmd cmd_convert = {
	.name = "convert",
	.help = "turn profiles into other formats, and others into profiles",
	.argp = &argp,
	.run = run_convert,
};
