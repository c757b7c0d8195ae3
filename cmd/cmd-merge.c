/* cprof merge: merges profiles with the same sample types. */

#include "base/err.h"
#include "base/vec.h"
#include "cmd/cmd.h"
#include "cmd/filemode.h"
#include "cmd/outputs.h"
#include "view/model/model.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>

#define COMPRESSION 6

struct merge {
	const char *output;
	struct filemode mode;
	VEC(const char *) paths;
	struct model *m;
};

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0, "The output file; - for stdout", 1 },
	FILEMODE_ROW(1),
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct merge *x = state->input;
	switch (key) {
	case 'o': x->output = arg; break;
	case FILEMODE_KEY: filemode_parse(&x->mode, state, arg); break;
	case ARGP_KEY_ARG:
		if (!VEC_PUSH(&x->paths, arg))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		break;
	case ARGP_KEY_END:
		if (x->paths.n == 0)
			argp_error(state, "no FILE given");
		if (!x->output)
			argp_error(state, "no output given: -o FILE, or -o - for stdout");
		filemode_check(&x->mode, state, x->output);
		break;
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

static int write_profile(void *what, int (*write)(void *ctx, const void *data, size_t n_bytes),
			 void *ctx, struct err *e)
{
	const struct merge *x = what;
	return model_write(x->m, write, ctx, COMPRESSION, e);
}

static int merge(struct merge *x, struct err *e)
{
	filemode_add_inputs(&x->mode, x->paths.v, x->paths.n);
	int r = model_read_files(x->paths.v, x->paths.n, &x->m, e);
	return r < 0 ? r : outputs_write(&(struct outputs){ x->output, true, write_profile, x }, 1,
					 &x->mode, e);
}

static int run_merge(int argc, char **argv)
{
	struct merge x = { 0 };
	struct err e = { 0 };
	argp_parse(&argp, argc, argv, 0, NULL, &x);
	int r = merge(&x, &e);
	model_free(x.m);
	VEC_FREE(&x.paths);
	return r < 0 ? cmd_fail("merge", &e) : 0;
}

const struct cmd cmd_merge = {
	.name = "merge",
	.help = "merge several profiles into one",
	.argp = &argp,
	.run = run_merge,
};
