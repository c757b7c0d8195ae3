/* Only parses each value; the library checks whether events and targets fit together. */

#include "cmd/stat/stat-opts.h"

#include "cmd/optparse.h"

#include <string.h>

/* More runs than anybody waits for. */
#define REPEAT_MAX 10000

enum {
	OPT_PER_THREAD = 256, OPT_USER, OPT_KERNEL, OPT_DURATION, OPT_JSON,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Target:", 1 },
	{ "pid", 'p', "PROCESS[,PROCESS...]", 0,
	  "Count in running processes, given by id or name, with all their threads; a command only "
	  "says how long", 1 },
	{ "children", TASKOPTS_CHILDREN, NULL, 0,
	  "With -p: all present descendants of the processes, too", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "Count in single threads", 1 },
	{ "all-cpus", 'a', NULL, 0, "Count everything on all CPUs; a command only says how long",
	  1 },
	{ "cpu", 'C', "LIST", 0, "The same, but only on these CPUs: 0,2 or 0-3,8", 1 },
	{ "no-inherit", TASKOPTS_NO_INHERIT, NULL, 0,
	  "Leave out threads and child processes created later", 1 },
	{ "per-thread", OPT_PER_THREAD, NULL, 0,
	  "With -p, -t or -a: show each thread that exists at the start", 1 },

	{ NULL, 0, NULL, 0, "Events:", 2 },
	{ "event", 'e', "EVENT[,EVENT...]", 0,
	  "What to count (see cprof list); default: CPU time, switches, page faults, cycles, "
	  "instructions and branches", 2 },
	{ "user", OPT_USER, NULL, 0, "Count only user code", 2 },
	{ "kernel", OPT_KERNEL, NULL, 0, "Count only kernel code", 2 },

	{ NULL, 0, NULL, 0, "When:", 3 },
	{ "repeat", 'r', "N", 0, "Run the command N times: means, and how much they vary", 3 },
	{ "duration", OPT_DURATION, "TIME", 0, "Stop after TIME: 5, 1.5s, 250ms, 2m", 3 },

	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "output", 'o', "FILE", 0, "Where to write; default: stderr, or stdout with --json", 4 },
	FILEMODE_ROW(4),
	{ "json", OPT_JSON, NULL, 0, "Print one JSON object", 4 },
	{ "quiet", 'q', NULL, 0, "Print errors only, besides the counts", 4 },
	{ "verbose", 'v', NULL, 0, "Explain what was opened", 4 },
	{ 0 }
};

static void check_end(const struct stat_opts *o, struct argp_state *state)
{
	const struct cprof_counter_config *c = &o->config;
	const struct taskopts *tasks = &o->tasks;
	taskopts_check(tasks, state, "count");
	if (tasks->all && tasks->no_inherit && !c->per_thread)
		argp_error(state, "%s counts all processes: --no-inherit cannot leave out those "
			   "created later", tasks->cpus ? "-C" : "-a");
	if (c->per_thread && tasks->cpus)
		argp_error(state, "--per-thread cannot be combined with -C: threads move between "
			   "CPUs");
	if (c->per_thread && taskopts_is_command(tasks))
		argp_error(state, "--per-thread needs -p, -t or -a: the threads of a command "
			   "do not exist yet");
	if (c->only_user && c->only_kernel)
		argp_error(state, "--user and --kernel cannot be combined");
	if (o->n_repeats > 1 && !tasks->command)
		argp_error(state, "-r repeats a command, and none was given");
	if (o->n_repeats > 1 && c->per_thread)
		argp_error(state, "-r and --per-thread cannot be combined");
	filemode_check(&o->mode, state, o->output);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct stat_opts *o = state->input;
	struct cprof_counter_config *c = &o->config;
	switch (key) {
	case OPT_PER_THREAD: c->per_thread = true; break;
	case 'e': optparse_append(state, arg, &o->events.v, &o->events.n, &o->events.cap); break;
	case OPT_USER: c->only_user = true; break;
	case OPT_KERNEL: c->only_kernel = true; break;
	case 'r':
		o->n_repeats = (unsigned)optparse_number(state, "-r", arg, 1, REPEAT_MAX);
		break;
	case OPT_DURATION:
		o->duration_ns = optparse_time(state, "--duration", arg, 1, UINT64_MAX);
		break;
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a file");
		o->output = arg;
		break;
	case FILEMODE_KEY: filemode_parse(&o->mode, state, arg); break;
	case OPT_JSON: o->json = true; break;
	case 'q': o->quiet = true; break;
	case 'v': o->verbose = true; break;
	case ARGP_KEY_END:
		check_end(o, state);
		taskopts_complete(&o->tasks, state);
		break;
	default: return taskopts_parse(&o->tasks, state, key, arg);
	}
	return 0;
}

const struct argp stat_opts_argp = {
	.options = options,
	.parser = parse,
	.args_doc = "[--] COMMAND [ARG...]\n-p PROCESS[,PROCESS...] [[--] COMMAND [ARG...]]\n"
		    "-t TID[,TID...] [[--] COMMAND [ARG...]]\n-a [[--] COMMAND [ARG...]]",
	.doc = "Count events in a command, in running processes or on all CPUs, without sampling.",
};

void stat_opts_parse(struct stat_opts *o, int argc, char **argv)
{
	*o = (struct stat_opts){ .n_repeats = 1 };
	argp_parse(&stat_opts_argp, argc, argv, ARGP_IN_ORDER, NULL, o);
	o->config.event = o->events.v;
	o->config.n_events = o->events.n;
	o->config.pid = o->tasks.processes.pids.v;
	o->config.n_pids = o->tasks.processes.pids.n;
	o->config.tid = o->tasks.tids.v;
	o->config.n_tids = o->tasks.tids.n;
	o->config.all_processes = o->tasks.all;
	o->config.cpus = o->tasks.cpus;
	o->config.no_inherit = o->tasks.no_inherit;
}

void stat_opts_done(struct stat_opts *o)
{
	VEC_FREE(&o->events);
	taskopts_done(&o->tasks);
}
