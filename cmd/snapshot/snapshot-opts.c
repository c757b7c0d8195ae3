/* Without -o and without another kind of output, the text is the output. */

#include "cmd/snapshot/snapshot-opts.h"

#include "cmd/limitopts.h"
#include "cmd/nameopts.h"
#include "cmd/optparse.h"
#include "cmd/optsets.h"

#include <string.h>

#define REPEATS_MAX 1000000u
#define EVERY_DEFAULT_NS UINT64_C(100000000)

enum {
	OPT_STOP = 256, OPT_TEXT, OPT_FOLD, OPT_JSON, OPT_REPEAT, OPT_EVERY,
	OPT_LABEL, OPT_GOROUTINES, OPT_THREADS, OPT_OLDER, OPT_FORMAT, OPT_INTERPRETER,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Target:", 1 },
	{ "pid", 'p', "PROCESS[,PROCESS...]", 0,
	  "Processes, given by id or name, with all their threads", 1 },
	{ "children", TASKOPTS_CHILDREN, NULL, 0, "With -p: all present descendants, too", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "Single threads", 1 },
	{ "all-processes", 'a', NULL, 0, "All processes of the machine", 1 },
	{ "stop", OPT_STOP, "WHICH", 0,
	  "Threads that are stopped while they are read, by ptrace, which makes some of their "
	  "system calls fail with EINTR: {stop}", 1 },

	{ NULL, 0, NULL, 0, "What:", 2 },
	{ "goroutines", OPT_GOROUTINES, NULL, 0, "Goroutines; the default for Go programs", 2 },
	{ "threads", OPT_THREADS, NULL, 0, "Threads, of Go programs, too", 2 },
	{ "interpreter", OPT_INTERPRETER, "WHAT", 0,
	  "functions of interpreters alone, with native ones, or not at all: {interpreter}", 2 },
	{ "older-than", OPT_OLDER, "TIME", 0,
	  "Only threads or goroutines that have been waiting for at least that time", 2 },

	{ NULL, 0, NULL, 0, "When:", 3 },
	{ "repeat", OPT_REPEAT, "N", 0,
	  "Take N snapshots: one profile of all, and which threads did not move", 3 },
	{ "every", OPT_EVERY, "TIME", 0,
	  "Time from one snapshot to the next; default: 100ms", 3 },

	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "output", 'o', "FILE", 0, "Write a profile with a sample for each thread; - for stdout",
	  4 },
	FILEMODE_ROW(4),
	{ "text", OPT_TEXT, NULL, 0, "Print each thread with its stack; the default without -o",
	  4 },
	{ "fold", OPT_FOLD, NULL, 0, "Print equal stacks once, with their threads", 4 },
	{ "json", OPT_JSON, NULL, 0, "Print everything as one JSON object", 4 },
	{ "format", OPT_FORMAT, "FORMAT", 0,
	  "Print goroutines as Go's /debug/pprof/goroutine?debug=1 and 2 do: {format}", 4 },
	{ "label", OPT_LABEL, "KEY=VALUE", 0, "Put a label on every sample (repeatable)", 4 },
	{ "quiet", 'q', NULL, 0, "Print errors only, besides the requested output", 4 },

	{ NULL, 0, NULL, 0, "Limits:", 5 },
	LIMITOPTS_MAX_MEMORY_ROW("stacks and the profile", 5),
	LIMITOPTS_SYMBOL_TIMEOUT_ROW("10s", 5),
	{ 0 }
};

static void check_end(struct snapshot_opts *o, struct argp_state *state)
{
	bool any = taskopts_has_ids(&o->tasks);
	if (!any && !o->tasks.all)
		argp_error(state, "no target: give -p PROCESS, -t TID or -a");
	if (any && o->tasks.all)
		argp_error(state, "-a takes all processes: give no -p or -t");
	if (o->tasks.with_children && !o->tasks.processes.pids.n)
		argp_error(state, "--children needs -p");
	if (o->text + o->fold + o->json > 1)
		argp_error(state, "--text, --fold and --json cannot be combined");
	if (o->goroutines && o->threads)
		argp_error(state, "--goroutines and --threads cannot be combined");
	bool are_goroutines = o->goroutines || o->go_format;
	if (are_goroutines && (o->threads || o->tasks.tids.n || o->config.snapshot_stop ||
			       o->config.interpreter))
		argp_error(state, "--goroutines and --format are for goroutines, which exclude "
			   "--threads, -t, --stop and --interpreter");
	if (o->config.min_wait_ns && o->config.snapshot_stop)
		argp_error(state, "--older-than cannot be combined with --stop: stopped threads do "
			   "not wait any more");
	o->goroutines |= are_goroutines;
	if (o->go_format && (o->text || o->fold || o->json || o->n_repeats > 1))
		argp_error(state, "--format cannot be combined with --text, --fold, --json or "
			   "--repeat");
	if (o->every_ns && o->n_repeats < 2)
		argp_error(state, "--every needs --repeat");
	if (o->n_repeats > 1 && (o->text || o->json))
		argp_error(state, "--repeat prints stacks of all snapshots, as --fold does: it "
			   "cannot be combined with --text or --json");
	filemode_check(&o->mode, state, o->output);
	bool to_stdout = o->output && strcmp(o->output, "-") == 0;
	if (to_stdout && (o->text || o->fold || o->json || o->go_format))
		argp_error(state, "-o - and --%s cannot be combined: both write to stdout",
			   o->text ? "text" : o->fold ? "fold" : o->json ? "json" : "format");
	o->text |= !o->output && !o->fold && !o->json && !o->go_format && o->n_repeats < 2;
	o->fold |= !o->output && o->n_repeats > 1;
	if (o->n_repeats > 1 && !o->every_ns)
		o->every_ns = EVERY_DEFAULT_NS;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct snapshot_opts *o = state->input;
	struct cprof_config *c = &o->config;
	switch (key) {
	case ARGP_KEY_INIT: state->child_inputs[0] = &c->naming; break;
	case OPT_STOP:
		c->snapshot_stop = (enum cprof_snapshot_stop)optwords_parse(&optsets_stop, state,
									    "--stop", arg);
		break;
	case OPT_INTERPRETER:
		c->interpreter = (enum cprof_interpreter)optwords_parse(
			&optsets_interpreter, state, "--interpreter", arg);
		break;
	case OPT_REPEAT:
		o->n_repeats = optparse_number(state, "--repeat", arg, 1, REPEATS_MAX);
		break;
	case OPT_EVERY: o->every_ns = optparse_time(state, "--every", arg, 1, UINT64_MAX); break;
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a file");
		o->output = arg;
		break;
	case FILEMODE_KEY: filemode_parse(&o->mode, state, arg); break;
	case OPT_TEXT: o->text = true; break;
	case OPT_FOLD: o->fold = true; break;
	case OPT_JSON: o->json = true; break;
	case OPT_GOROUTINES: o->goroutines = true; break;
	case OPT_THREADS: o->threads = true; break;
	case OPT_OLDER:
		c->min_wait_ns = optparse_time(state, "--older-than", arg, 1, UINT64_MAX);
		break;
	case OPT_FORMAT:
		o->go_format = optwords_parse(&optsets_go_format, state, "--format", arg);
		break;
	case OPT_LABEL:
		optparse_label(state, arg, &o->labels.v, &o->labels.n, &o->labels.cap);
		break;
	case 'q': o->quiet = true; break;
	case LIMITOPTS_MAX_MEMORY:
		c->max_memory_bytes = limitopts_max_memory(state, arg);
		break;
	case LIMITOPTS_SYMBOL_TIMEOUT:
		c->symbol_timeout_ns = limitopts_symbol_timeout(state, arg);
		break;
	case ARGP_KEY_ARG:
		argp_error(state, "unexpected argument '%s': processes are given with -p", arg);
		break;
	case ARGP_KEY_END:
		check_end(o, state);
		taskopts_complete(&o->tasks, state);
		break;
	default: return taskopts_parse(&o->tasks, state, key, arg);
	}
	return 0;
}

static const struct argp_child children[] = { { &nameopts_argp, 0, NULL, 0 }, { 0 } };
const struct argp snapshot_opts_argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.help_filter = optwords_help,
	.args_doc = "-p PROCESS[,PROCESS...]\n-t TID[,TID...]\n-a",
	.doc = "Show what every thread of running processes is doing at one moment, with its "
	       "stack, without stopping any of them.",
};

void snapshot_opts_parse(struct snapshot_opts *o, int argc, char **argv)
{
	*o = (struct snapshot_opts){ .n_repeats = 1 };
	argp_parse(&snapshot_opts_argp, argc, argv, 0, NULL, o);
	o->config.kind = cprof_snapshot_recorder();
	o->config.n_readers = CPROF_READERS_AUTO;
	o->config.leaves_cpus = true;
	taskopts_configure(&o->tasks, &o->config);
	o->config.label = o->labels.v;
	o->config.n_labels = o->labels.n;
}

void snapshot_opts_done(struct snapshot_opts *o)
{
	taskopts_done(&o->tasks);
	VEC_FREE(&o->labels);
}
