#include "cmd/nameopts.h"

#include "cmd/optparse.h"
#include "cmd/optsets.h"
#include "cprof-names.h"

enum { OPT_DEMANGLE = 600, OPT_DEBUGINFOD, OPT_DEBUGINFOD_TIMEOUT, OPT_KERNEL_DEBUG,
	OPT_NO_CACHE, OPT_KERNEL_ADDRESSES };

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Names:", NAMEOPTS_GROUP },
	{ "demangle", OPT_DEMANGLE, "MODE", 0,
	  "How to show C++, Rust and D names: {demangle}",
	  NAMEOPTS_GROUP },
	{ "debuginfod", OPT_DEBUGINFOD, "WHEN", OPTION_ARG_OPTIONAL,
	  "Fetch missing debug files from the servers in DEBUGINFOD_URLS; {debuginfod}: if it is "
	  "set",
	  NAMEOPTS_GROUP },
	{ "debuginfod-timeout", OPT_DEBUGINFOD_TIMEOUT, "TIME", 0,
	  "Time limit for all files together; default: 30s", NAMEOPTS_GROUP },
	{ "no-cache", OPT_NO_CACHE, NULL, 0,
	  "Do not use the cache of names in ~/.cache/cprof",
	  NAMEOPTS_GROUP },
	{ 0 }
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cprof_naming *n = state->input;
	switch (key) {
	case OPT_DEMANGLE:
		n->demangle = (enum cprof_demangle)optwords_parse(&optsets_demangle, state,
								  "--demangle", arg);
		return 0;
	case OPT_DEBUGINFOD:
		n->debuginfod = !arg ? CPROF_DEBUGINFOD_ON : (enum cprof_debuginfod)
				optwords_parse(&optsets_debuginfod, state, "--debuginfod", arg);
		return 0;
	case OPT_DEBUGINFOD_TIMEOUT:
		n->debuginfod_ns = optparse_time(state, "--debuginfod-timeout", arg, 1, UINT64_MAX);
		return 0;
	case OPT_NO_CACHE: n->no_cache = true; return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

const struct argp nameopts_argp = {
	.options = options, .parser = parse, .help_filter = optwords_help,
};

static const struct argp_option kernel_options[] = {
	{ "kernel-debug", OPT_KERNEL_DEBUG, "FILE", OPTION_ARG_OPTIONAL,
	  "Inlined calls, files and lines of the kernel, from its installed debug files; FILE: "
	  "vmlinux, or a directory with it and the modules", NAMEOPTS_GROUP },
	{ "kernel-addresses", OPT_KERNEL_ADDRESSES, NULL, 0,
	  "Keep the addresses of kernel code as they are in memory, which reveals where the kernel "
	  "is; default: as the kernel was linked", NAMEOPTS_GROUP },
	{ 0 }
};

static error_t parse_kernel(int key, char *arg, struct argp_state *state)
{
	struct cprof_naming *n = state->input;
	if (key == OPT_KERNEL_ADDRESSES) {
		n->kernel_addresses = true;
		return 0;
	}
	if (key != OPT_KERNEL_DEBUG)
		return ARGP_ERR_UNKNOWN;
	if (arg && !*arg)
		argp_error(state, "--kernel-debug= names no file");
	n->kernel_debug = true;
	n->kernel_debug_file = arg;
	return 0;
}

const struct argp nameopts_kernel_argp = { .options = kernel_options, .parser = parse_kernel };
