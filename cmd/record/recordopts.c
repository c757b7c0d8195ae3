/*
 * One table of options, from which argp prints the help.  Values are only taken apart here; what
 * they mean together is checked by the library.
 */
#include "cmd/record/recordopts.h"

#include "base/units.h"
#include "cmd/callgraphopt.h"
#include "cmd/cmd.h"
#include "cmd/labelopt.h"
#include "cmd/nameopts.h"

#include <argp.h>
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* More runs than anybody waits for. */
#define REPEAT_MAX 10000

enum {
	OPT_DURATION = 256,
	OPT_DELAY,
	OPT_CALL_GRAPH,
	OPT_USER,
	OPT_KERNEL,
	OPT_NO_INHERIT,
	OPT_LABEL,
	OPT_LABELS,
	OPT_SCOPE,
	OPT_MAX_DEPTH,
	OPT_RING_SIZE,
	OPT_MAX_MEMORY,
	OPT_SYMBOL_TIMEOUT,
	OPT_STRICT,
	OPT_SCALE,
	OPT_ADAPTIVE,
	OPT_JSON,
	OPT_NO_SYMBOLS,
	OPT_EXCLUSIVE, OPT_REPEAT,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Target:", 1 },
	{ "pid", 'p', "PID[,PID...]", 0, "Record running processes, with all their threads", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "Record single threads", 1 },
	{ "all-cpus", 'a', NULL, 0,
	  "Record all processes of the machine; a command only says how long", 1 },
	{ "cpu", 'C', "LIST", 0, "The same, but only on these CPUs: 0,2 or 0-3,8", 1 },
	{ "no-inherit", OPT_NO_INHERIT, NULL, 0,
	  "Leave out threads and children made later", 1 },
	{ "scope", OPT_SCOPE, "SCOPE", 0, "How events are opened: auto, task, cpu or cgroup", 1 },

	{ NULL, 0, NULL, 0, "Events:", 2 },
	{ "event", 'e', "EVENT[,EVENT...]", 0,
	  "What to sample (see cprof list); default: cycles, or cpu-clock without a PMU", 2 },
	{ "freq", 'F', "HZ", 0, "Samples per second and CPU, or max; default: 999", 2 },
	{ "count", 'c', "PERIOD", 0, "One sample every PERIOD events (ns for clocks)", 2 },
	{ "adaptive", OPT_ADAPTIVE, NULL, 0,
	  "Halve a rate at which samples are lost or throttled", 2 },
	{ "scale", OPT_SCALE, NULL, 0,
	  "Scale the values of events that took turns to the whole time", 2 },
	{ "user", OPT_USER, NULL, 0, "Only user code", 2 },
	{ "kernel", OPT_KERNEL, NULL, 0, "Only kernel code", 2 },
	{ "call-graph", OPT_CALL_GRAPH, "MODE", 0,
	  "User stacks: auto (the default), dwarf[,SIZE], fp, lbr or none", 2 },

	{ "max-depth", OPT_MAX_DEPTH, "N", 0,
	  "Deepest user stack by CFI, in frames; default: 16384", 2 },

	{ NULL, 0, NULL, 0, "When:", 3 },
	{ "duration", OPT_DURATION, "TIME", 0, "Stop after TIME: 5, 1.5s, 250ms, 2m", 3 },
	{ "delay", OPT_DELAY, "TIME", 0,
	  "Leave out what happens in the first TIME; -1: until --control says enable", 3 },
	{ "exclusive", OPT_EXCLUSIVE, NULL, 0,
	  "Wait until no other recording with this option runs on the machine", 3 },
	{ "repeat", OPT_REPEAT, "N", 0,
	  "Run the command N times: one profile, and how each function's share varies", 3 },
	{ NULL, 'D', "MS", 0, "The same in milliseconds, or -1, as perf record has it", 3 },

	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "output", 'o', "FILE", 0,
	  "Where to; default: cprof.<event>.pb.gz; - for stdout", 4 },
	{ "label", OPT_LABEL, "KEY=VALUE", 0, "Put a label on every sample", 4 },
	{ "labels", OPT_LABELS, "LIST", 0,
	  "Built-in labels: pid,tid,thread_name,process_name,cpu,cgroup,stack, or none", 4 },
	{ "strict", OPT_STRICT, NULL, 0, "Exit with status 2 if anything was lost", 4 },
	{ "quiet", 'q', NULL, 0, "Print errors only", 4 },
	{ "verbose", 'v', NULL, 0, "Explain what was opened, chosen and found", 4 },
	{ "json", OPT_JSON, NULL, 0, "Print a summary as one JSON object on stdout", 4 },

	{ "no-symbols", OPT_NO_SYMBOLS, NULL, 0,
	  "Write no names of files' code: cprof symbolize can add them later", 6 },

	{ NULL, 0, NULL, 0, "Limits:", 5 },
	{ "ring-size", OPT_RING_SIZE, "SIZE", 0, "Size of each CPU's ring, a power of two: 4M", 5 },
	{ "max-memory", OPT_MAX_MEMORY, "SIZE", 0, "Memory for the profile; default: 256M", 5 },
	{ "symbol-timeout", OPT_SYMBOL_TIMEOUT, "TIME", 0,
	  "Longest time for one file's debug information; default: 10s", 5 },
	{ 0 }
};

static void parse_ids(struct argp_state *state, const char *arg, const char *what, pid_t **v,
		      size_t *n, size_t *cap)
{
	for (const char *p = arg;;) {
		char *end;
		errno = 0;
		long id = strtol(p, &end, 10);
		if (!isdigit((unsigned char)*p) || errno || id <= 0 || id > 0x7fffffff ||
		    (*end && *end != ','))
			argp_error(state, "'%s' is not a list of %s ids", arg, what);
		if (!vec_grow((void **)v, cap, *n, 1, sizeof(**v)))
			argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
		(*v)[(*n)++] = (pid_t)id;
		if (!*end)
			return;
		p = end + 1;
	}
}

static uint64_t parse_duration(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t ns = 0;
	if (units_parse_duration(arg, &ns) < 0)
		argp_error(state, "%s '%s' is not a time: write 5, 1.5s, 250ms or 2m", option, arg);
	return ns;
}

static uint64_t parse_size(struct argp_state *state, const char *option, const char *arg)
{
	uint64_t bytes = 0;
	if (units_parse_size(arg, &bytes) < 0 || bytes == 0)
		argp_error(state, "%s '%s' is not a size: write 65536, 512K, 4M or 1G", option,
			   arg);
	return bytes;
}

static uint32_t parse_depth(struct argp_state *state, const char *arg)
{
	uint64_t depth = 0;
	if (units_parse_u64(arg, &depth) < 0 || depth == 0 || depth > 1000000)
		argp_error(state, "--max-depth '%s' is not a number of frames from 1 to 1000000",
			   arg);
	return (uint32_t)depth;
}

/* As perf has it: -1 begins with all events disabled; -D counts milliseconds. */
static void parse_delay(struct argp_state *state, const char *option, const char *arg,
			struct cprof_config *c)
{
	uint64_t ms;
	c->start_paused = strcmp(arg, "-1") == 0;
	c->delay_ns = 0;
	if (c->start_paused)
		return;
	if (option[1] == '-') {
		c->delay_ns = parse_duration(state, option, arg);
		return;
	}
	if (units_parse_u64(arg, &ms) < 0 || ms > UINT64_MAX / 1000000)
		argp_error(state, "-D '%s' is not -1 or a number of milliseconds", arg);
	c->delay_ns = ms * 1000000;
}

static enum cprof_scope parse_scope(struct argp_state *state, const char *arg)
{
	static const char *const name[] = {
		[CPROF_SCOPE_AUTO] = "auto", [CPROF_SCOPE_TASK] = "task",
		[CPROF_SCOPE_CPU] = "cpu", [CPROF_SCOPE_CGROUP] = "cgroup",
	};
	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++)
		if (strcmp(arg, name[i]) == 0)
			return (enum cprof_scope)i;
	argp_error(state, "--scope '%s': it is auto, task, cpu or cgroup", arg);
	return CPROF_SCOPE_AUTO;
}

static void add_text(struct argp_state *state, const char *arg, const char ***v, size_t *n,
		     size_t *cap)
{
	if (!vec_grow((void **)v, cap, *n, 1, sizeof(**v)))
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	(*v)[(*n)++] = arg;
}

static void check_end(struct recordopts *o, struct argp_state *state)
{
	const struct cprof_config *c = &o->config;
	bool attach = o->pids.n || o->tids.n;
	if (!attach && !o->command && !c->all_processes)
		argp_error(state, "what shall be recorded? give -p PID, -t TID, -a or a command");
	if (attach && c->all_processes)
		argp_error(state, "%s records all processes, and does not go with -p and -t",
			   c->cpus ? "-C" : "-a");
	if (c->all_processes && c->no_inherit)
		argp_error(state, "%s records all processes: --no-inherit cannot leave out those "
			   "that are made later", c->cpus ? "-C" : "-a");
	if (c->all_processes && (c->scope == CPROF_SCOPE_TASK || c->scope == CPROF_SCOPE_CGROUP))
		argp_error(state, "%s records whole CPUs, in no other --scope than cpu",
			   c->cpus ? "-C" : "-a");
	if (attach && o->command)
		argp_error(state, "-p and -t do not go with a command ('%s')", o->command[0]);
	if (c->freq && c->period)
		argp_error(state,
			   "-F and -c exclude each other: one is a rate, the other a period");
	if (c->only_user && c->only_kernel)
		argp_error(state, "--user and --kernel exclude each other");
	if (o->json && o->output && strcmp(o->output, "-") == 0)
		argp_error(state, "--json and -o - both want stdout");
	if (o->part.rotate.kind != ROTATE_NEVER && o->output && strcmp(o->output, "-") == 0)
		argp_error(state, "--switch-output makes several files, which -o - cannot take");
	if (o->part.trigger.text && o->output && strcmp(o->output, "-") == 0)
		argp_error(state, "--trigger makes several files, which -o - cannot take");
	if (o->part.signal && o->output && strcmp(o->output, "-") == 0)
		argp_error(state, "--snapshot-signal makes several files, which -o - cannot take");
	if (c->start_paused && !o->part.has_control)
		argp_error(state, "--delay -1 begins disabled, and only --control can enable it");
	if (o->quiet && o->verbose)
		argp_error(state, "-q and -v exclude each other");
	if (o->repeat && !o->command)
		argp_error(state, "--repeat runs a command, and there is none");
	if (o->repeat && (o->part.has_control || o->part.signal || o->part.last_ns ||
			  o->part.trigger.text || o->part.rotate.kind != ROTATE_NEVER))
		argp_error(state, "--repeat makes one profile of whole runs: it goes neither with "
			   "--control nor with --snapshot-signal, --switch-output, --last, "
			   "--trigger");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct recordopts *o = state->input;
	struct cprof_config *c = &o->config;
	uint64_t n;
	switch (key) {
	case 'p':
		parse_ids(state, arg, "process", &o->pids.v, &o->pids.n, &o->pids.cap);
		break;
	case 't':
		parse_ids(state, arg, "thread", &o->tids.v, &o->tids.n, &o->tids.cap);
		break;
	case 'e':
		add_text(state, arg, &o->events.v, &o->events.n, &o->events.cap);
		break;
	case OPT_LABEL:
		labelopt_add(state, arg, &o->labels.v, &o->labels.n, &o->labels.cap);
		break;
	case 'a': c->all_processes = true; break;
	case 'C':
		c->all_processes = true;
		c->cpus = arg;
		break;
	case 'F': c->freq = arg; break;
	case 'c': c->period = arg; break;
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a file");
		o->output = arg;
		break;
	case 'q': o->quiet = true; break;
	case 'v': o->verbose = true; break;
	case OPT_JSON: o->json = true; break;
	case OPT_NO_SYMBOLS: c->naming.no_symbols = true; break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &c->naming;
		state->child_inputs[1] = &c->naming;
		state->child_inputs[2] = o->subset ? o->subset->own_input : &o->part;
		break;
	case OPT_EXCLUSIVE: o->exclusive = true; break;
	case OPT_REPEAT:
		if (units_parse_u64(arg, &n) < 0 || n < 2 || n > REPEAT_MAX)
			argp_error(state, "--repeat '%s': a number from 2 to %d", arg, REPEAT_MAX);
		o->repeat = (unsigned)n;
		break;
	case OPT_STRICT: o->strict = true; break;
	case OPT_ADAPTIVE: c->adaptive = true; break;
	case OPT_SCALE: c->scale = true; break;
	case OPT_USER: c->only_user = true; break;
	case OPT_KERNEL: c->only_kernel = true; break;
	case OPT_NO_INHERIT: c->no_inherit = true; break;
	case OPT_SCOPE: c->scope = parse_scope(state, arg); break;
	case OPT_DURATION:
		o->duration_ns = parse_duration(state, "--duration", arg);
		if (o->duration_ns == 0)
			argp_error(state, "--duration '%s': nothing can be recorded in no time",
				   arg);
		break;
	case OPT_DELAY:
		parse_delay(state, "--delay", arg, c);
		break;
	case 'D':
		parse_delay(state, "-D", arg, c);
		break;
	case OPT_MAX_DEPTH: c->max_depth = parse_depth(state, arg); break;
	case OPT_RING_SIZE: c->ring_bytes = parse_size(state, "--ring-size", arg); break;
	case OPT_MAX_MEMORY: c->max_memory_bytes = parse_size(state, "--max-memory", arg); break;
	case OPT_SYMBOL_TIMEOUT:
		c->symbol_timeout_ns = parse_duration(state, "--symbol-timeout", arg);
		if (c->symbol_timeout_ns == 0)
			argp_error(state, "--symbol-timeout '%s': nothing can be read in no time",
				   arg);
		break;
	case OPT_CALL_GRAPH:
		c->callgraph = callgraphopt_parse(state, arg, &c->stack_bytes);
		break;
	case OPT_LABELS:
		c->labels = labelopt_parse(state, arg, ~0u);
		c->labels_given = true;
		break;
	case ARGP_KEY_ARG:
		/* The command begins here, and all that follows is its own. */
		o->command = &state->argv[state->next - 1];
		state->next = state->argc;
		break;
	case ARGP_KEY_END:
		check_end(o, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { { &nameopts_argp, 0, NULL, 0 },
					      { &nameopts_kernel_argp, 0, NULL, 0 },
					      { &partopts_argp, 0, NULL, 0 },
					      { 0 } };
static const struct argp argp = {
	.children = children,
	.options = options,
	.parser = parse,
	.args_doc = "-p PID[,PID...]\n-t TID[,TID...]\n[--] COMMAND [ARG...]\n"
		    "-a [[--] COMMAND [ARG...]]",
	.doc = "Record a profile, one gzipped pprof file per event.\v"
	       "Exit status: 0 done, 1 failed, 2 incomplete (--strict), 64 usage; of a command "
	       "that was recorded its own, 126 or 127 when it could not be run.",
};

static char *join(int argc, char **argv)
{
	size_t n = 1;
	for (int i = 0; i < argc; i++)
		n += strlen(argv[i]) + 1;
	char *text = calloc(n, 1);
	for (int i = 0; i < argc && text; i++) {
		strcat(text, i ? " " : "");
		strcat(text, argv[i]);
	}
	return text;
}

static void fill_config(struct recordopts *o)
{
	o->config.pausable = o->part.has_control;
	o->config.keep_last_ns = o->part.last_ns;
	o->config.event = o->events.v;
	o->config.n_events = o->events.n;
	o->config.label = o->labels.v;
	o->config.n_labels = o->labels.n;
	o->config.pid = o->pids.v;
	o->config.n_pids = o->pids.n;
	o->config.tid = o->tids.v;
	o->config.n_tids = o->tids.n;
	o->config.command_line = o->command_line;
}

/* The options that are named, and the titles of their groups. */
static void choose_options(const char *const *name, struct argp_option *ret)
{
	const struct argp_option *title = NULL;
	for (const struct argp_option *o = options; o->name || o->key || o->doc; o++) {
		if (!o->name && !o->key) {
			title = o;
			continue;
		}
		size_t i = 0;
		while (o->name && name[i] && strcmp(name[i], o->name) != 0)
			i++;
		if (!o->name || !name[i])
			continue;
		if (title && title->group == o->group)
			*ret++ = *title;
		title = NULL;
		*ret++ = *o;
	}
}

void recordopts_parse_subset(struct recordopts *o, const struct recordopts_subset *subset, int argc,
			     char **argv)
{
	struct argp_option chosen[sizeof(options) / sizeof(*options)] = { 0 };
	const struct argp_child own[] = { children[0], children[1], { subset->own, 0, NULL, 0 },
					  { 0 } };
	const struct argp some = {
		.children = own, .options = chosen, .parser = parse,
		.args_doc = argp.args_doc, .doc = subset->doc,
	};
	choose_options(subset->name, chosen);
	*o = (struct recordopts){ .command_line = join(argc, argv), .subset = subset };
	argp_parse(&some, argc, argv, ARGP_IN_ORDER, NULL, o);
	o->subset = NULL;
	fill_config(o);
}

void recordopts_parse(struct recordopts *o, int argc, char **argv)
{
	*o = (struct recordopts){ .command_line = join(argc, argv) };
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, o);
	fill_config(o);
}

void recordopts_done(struct recordopts *o)
{
	VEC_FREE(&o->events);
	VEC_FREE(&o->labels);
	VEC_FREE(&o->pids);
	VEC_FREE(&o->tids);
	partopts_done(&o->part);
	free(o->command_line);
}
