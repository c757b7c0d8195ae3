#include "cmd/nameopts.h"

#include "base/units.h"
#include "cprof-names.h"

#include <string.h>

enum { OPT_DEMANGLE = 600, OPT_DEBUGINFOD, OPT_DEBUGINFOD_TIMEOUT, OPT_KERNEL_DEBUG,
	OPT_NO_CACHE };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Names:", NAMEOPTS_GROUP },
	{ "demangle", OPT_DEMANGLE, "MODE", 0,
	  "Names of C++, Rust, D: simple (the default), full, as c++filt, or none",
	  NAMEOPTS_GROUP },
	{ "debuginfod", OPT_DEBUGINFOD, "auto", OPTION_ARG_OPTIONAL,
	  "Fetch missing debug files from the servers in DEBUGINFOD_URLS; auto: if it is set",
	  NAMEOPTS_GROUP },
	{ "debuginfod-timeout", OPT_DEBUGINFOD_TIMEOUT, "TIME", 0,
	  "For all files together; default: 30 s", NAMEOPTS_GROUP },
	{ "no-cache", OPT_NO_CACHE, NULL, 0,
	  "Use no files that earlier runs kept below ~/.cache/cprof, and keep none",
	  NAMEOPTS_GROUP },
	{ 0 }
};

static enum cprof_demangle parse_demangle(struct argp_state *state, const char *arg)
{
	static const char *const name[] = {
		[CPROF_DEMANGLE_SIMPLE] = "simple", [CPROF_DEMANGLE_NONE] = "none",
		[CPROF_DEMANGLE_FULL] = "full",
	};
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (strcmp(arg, name[i]) == 0)
			return (enum cprof_demangle)i;
	argp_error(state, "--demangle '%s': it is none, simple or full", arg);
	return CPROF_DEMANGLE_SIMPLE;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cprof_naming *n = state->input;
	switch (key) {
	case OPT_DEMANGLE: n->demangle = parse_demangle(state, arg); return 0;
	case OPT_DEBUGINFOD:
		if (arg && strcmp(arg, "auto") != 0)
			argp_error(state,
				   "--debuginfod=%s: it is --debuginfod or --debuginfod=auto", arg);
		n->debuginfod = arg ? CPROF_DEBUGINFOD_AUTO : CPROF_DEBUGINFOD_ON;
		return 0;
	case OPT_DEBUGINFOD_TIMEOUT:
		if (units_parse_duration(arg, &n->debuginfod_ns) < 0 || !n->debuginfod_ns)
			argp_error(state, "--debuginfod-timeout '%s' is not a time: write 5, 1.5s, "
				   "250ms or 2m", arg);
		return 0;
	case OPT_NO_CACHE: n->no_cache = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp nameopts_argp = { .options = options, .parser = parse };

static const struct argp_option kernel_options[] = {
	{ "kernel-debug", OPT_KERNEL_DEBUG, "FILE", OPTION_ARG_OPTIONAL,
	  "Inlined calls, files and lines of the kernel, by its installed debug files; FILE: "
	  "vmlinux, or a folder with it and modules", NAMEOPTS_GROUP },
	{ 0 }
};

static error_t parse_kernel(int key, char *arg, struct argp_state *state)
{
	struct cprof_naming *n = state->input;
	if (key != OPT_KERNEL_DEBUG)
		return ARGP_ERR_UNKNOWN;
	if (arg && !*arg)
		argp_error(state, "--kernel-debug= names no file");
	n->kernel_debug = true;
	n->kernel_debug_file = arg;
	return 0;
}

const struct argp nameopts_kernel_argp = { .options = kernel_options, .parser = parse_kernel };
