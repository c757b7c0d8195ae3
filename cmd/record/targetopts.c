/*
 * Only parses each value; the library checks whether they fit together.
 */
#include "cmd/record/targetopts.h"

#include "cmd/limitopts.h"
#include "cmd/optparse.h"
#include "cmd/optsets.h"

#include <stdlib.h>
#include <string.h>

enum {
	OPT_SCOPE = 512, OPT_ADAPTIVE, OPT_USER, OPT_KERNEL, OPT_CALL_GRAPH,
	OPT_MAX_DEPTH, OPT_RING_SIZE, OPT_REALTIME,
	OPT_NO_COMMAND_LINE, OPT_THREADS, OPT_NO_BPF, OPT_OFF_CPU_MIN, OPT_SWITCH_RATE,
	OPT_RUNTIME_NAMES, OPT_GROWTH, OPT_UNIT,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Target:", 1 },
	{ "pid", 'p', "PROCESS[,PROCESS...]", 0,
	  "Record running processes, given by id or name, with all their threads; a command only "
	  "says how long", 1 },
	{ "children", TASKOPTS_CHILDREN, NULL, 0,
	  "With -p: record all present descendants of the processes, too", 1 },
	{ "tid", 't', "TID[,TID...]", 0, "Record single threads", 1 },
	{ "all-cpus", 'a', NULL, 0,
	  "Record all processes of the machine; a command only says how long", 1 },
	{ "cpu", 'C', "LIST", 0, "The same, but only on these CPUs: 0,2 or 0-3,8", 1 },
	{ "no-inherit", TASKOPTS_NO_INHERIT, NULL, 0,
	  "Leave out threads and child processes created later", 1 },
	{ "scope", OPT_SCOPE, "SCOPE", 0, "How events are opened: {scope}", 1 },
	{ "no-bpf", OPT_NO_BPF, NULL, 0,
	  "Load no BPF programs, which filter samples and look up kernel names", 1 },

	{ NULL, 0, NULL, 0, "Events:", 2 },
	{ "event", 'e', "EVENT[,EVENT...]", 0,
	  "What to sample (see cprof list); default: cycles, or cpu-clock without a PMU", 2 },
	{ "growth", OPT_GROWTH, NULL, 0,
	  "Sample where memory grows: bytes of the pages that are used for the first time", 2 },
	{ "unit", OPT_UNIT, "UNIT", 0, "What page faults are counted in: {fault-unit}", 2 },
	{ "freq", 'F', "HZ", 0, "Samples per second and CPU, or max; default: 999", 2 },
	{ "count", 'c', "PERIOD", 0,
	  "One sample every PERIOD events (ns for clocks); a time, 1ms, for clocks and waits", 2 },
	{ "off-cpu-min", OPT_OFF_CPU_MIN, "TIME", 0,
	  "Leave out shorter waits, except of wall", 2 },
	{ "switch-rate", OPT_SWITCH_RATE, "N", 0,
	  "Stacks of all waits up to N per second, and of some above; default: 10000", 2 },
	{ "adaptive", OPT_ADAPTIVE, NULL, 0,
	  "Halve the sampling rate whenever samples are lost or throttled", 2 },
	{ "user", OPT_USER, NULL, 0, "Sample only user code", 2 },
	{ "kernel", OPT_KERNEL, NULL, 0, "Sample only kernel code", 2 },
	{ "call-graph", OPT_CALL_GRAPH, "MODE", 0,
	  "How to unwind user stacks: {call-graph}; dwarf,SIZE copies SIZE bytes of each stack",
	  2 },
	{ NULL, 'g', NULL, 0, "Does nothing, because stacks are always recorded", 2 },
	{ "max-depth", OPT_MAX_DEPTH, "N", 0,
	  "Deepest user stack to unwind by CFI, in frames; default: 16384", 2 },

	{ "runtime-names", OPT_RUNTIME_NAMES, "WHEN", 0,
	  "Read the names of Java functions from the memory of the JVM: {runtime-names}", 4 },
	{ "no-command-line", OPT_NO_COMMAND_LINE, NULL, 0,
	  "Leave the command line, which may have secrets, out of the profile", 4 },

	{ NULL, 0, NULL, 0, "Limits:", 5 },
	{ "ring-size", OPT_RING_SIZE, "SIZE", 0,
	  "Size of each CPU's ring, a power of two: 4M", 5 },
	LIMITOPTS_MAX_MEMORY_ROW("the profile", 5),
	{ "threads", OPT_THREADS, "N", 0,
	  "Read the rings with N threads; default: one, and more while it is too busy", 5 },
	{ "realtime", OPT_REALTIME, "WHEN", 0,
	  "Read the rings at real-time priority where that is allowed: {realtime}", 5 },
	{ 0 }
};

static void parse_callgraph(struct argp_state *state, const char *arg, struct cprof_config *c)
{
	bool has_size = strncmp(arg, "dwarf,", 6) == 0;
	uint64_t n_bytes = has_size ? optparse_size(state, "--call-graph dwarf,", arg + 6) : 0;
	if (n_bytes > UINT32_MAX)
		argp_error(state, "--call-graph '%s': a stack copy cannot be that large", arg);
	c->callgraph = has_size ? CPROF_CALLGRAPH_DWARF :
		       (enum cprof_callgraph)optwords_parse(&optsets_callgraph, state,
							    "--call-graph", arg);
	c->stack_bytes = (uint32_t)n_bytes;
}

static void check_target(const struct targetopts *o, struct argp_state *state)
{
	const struct cprof_config *c = &o->config;
	const struct taskopts *tasks = &o->tasks;
	const char *all = tasks->cpus ? "-C" : "-a";
	taskopts_check(tasks, state, "record");
	if (tasks->all && tasks->no_inherit)
		argp_error(state, "%s records all processes: --no-inherit cannot leave out those "
			   "created later", all);
	if (tasks->all && (c->scope == CPROF_SCOPE_TASK || c->scope == CPROF_SCOPE_CGROUP))
		argp_error(state, "%s records whole CPUs: the only --scope for that is cpu", all);
	if (c->freq && c->period)
		argp_error(state,
			   "-F and -c cannot be combined: one is a rate, the other a period");
	if (c->only_user && c->only_kernel)
		argp_error(state, "--user and --kernel cannot be combined");
	if (o->no_command_line && (c->labels & CPROF_LABEL_PROCESS_TITLE))
		argp_error(state, "--no-command-line and --labels process_title cannot be "
			   "combined: titles have the arguments of processes");
}

static char growth[] = "page-faults/unit=bytes,name=growth/";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct targetopts *o = state->input;
	struct cprof_config *c = &o->config;
	switch (key) {
	case OPT_NO_COMMAND_LINE: o->no_command_line = true; break;
	case 'g': break;
	case 'e':
		optparse_append(state, arg, &o->events.v, &o->events.n, &o->events.cap);
		break;
	case OPT_GROWTH:
		optparse_append(state, growth, &o->events.v, &o->events.n, &o->events.cap);
		break;
	case OPT_UNIT:
		c->page_bytes = optwords_parse(&optsets_fault_unit, state, "--unit", arg);
		break;
	case 'F': c->freq = arg; break;
	case 'c': c->period = arg; break;
	case OPT_ADAPTIVE: c->adaptive = true; break;
	case OPT_USER: c->only_user = true; break;
	case OPT_KERNEL: c->only_kernel = true; break;
	case OPT_SCOPE:
		c->scope = (enum cprof_scope)optwords_parse(&optsets_scope, state, "--scope", arg);
		break;
	case OPT_NO_BPF: c->no_bpf = true; break;
	case OPT_OFF_CPU_MIN:
		c->off_cpu_min_ns = optparse_time(state, "--off-cpu-min", arg, 1, UINT64_MAX);
		break;
	case OPT_SWITCH_RATE:
		c->switch_rate_max = optparse_number(state, "--switch-rate", arg, 1, UINT32_MAX);
		break;
	case OPT_MAX_DEPTH:
		c->max_depth = (uint32_t)optparse_number(state, "--max-depth", arg, 1, 1000000);
		break;
	case OPT_RING_SIZE: c->ring_bytes = optparse_size(state, "--ring-size", arg); break;
	case LIMITOPTS_MAX_MEMORY:
		c->max_memory_bytes = limitopts_max_memory(state, arg);
		break;
	case OPT_THREADS:
		c->n_readers = (uint32_t)optparse_number(state, "--threads", arg, 1,
							 CPROF_READERS_MAX);
		break;
	case OPT_REALTIME:
		o->is_normal = !optwords_parse(&optsets_realtime, state, "--realtime", arg);
		break;
	case OPT_RUNTIME_NAMES:
		c->no_runtime_names = !optwords_parse(&optsets_runtime_names, state,
						      "--runtime-names", arg);
		break;
	case OPT_CALL_GRAPH: parse_callgraph(state, arg, c); break;
	case ARGP_KEY_END:
		check_target(o, state);
		taskopts_complete(&o->tasks, state);
		break;
	default: return taskopts_parse(&o->tasks, state, key, arg);
	}
	return 0;
}

const struct argp targetopts_argp = {
	.options = options, .parser = parse, .help_filter = optwords_help,
};

static char *join_words(int argc, char **argv)
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

void targetopts_init(struct targetopts *o, int argc, char **argv)
{
	*o = (struct targetopts){
		.command_line = join_words(argc, argv), .config.n_readers = CPROF_READERS_AUTO,
	};
}

void targetopts_set_inputs(struct targetopts *o, struct argp_state *state)
{
	state->child_inputs[0] = o;
	state->child_inputs[1] = state->child_inputs[2] = &o->config.naming;
}

void targetopts_finish(struct targetopts *o)
{
	o->config.event = o->events.v;
	o->config.n_events = o->events.n;
	taskopts_configure(&o->tasks, &o->config);
	o->config.command_line = o->no_command_line ? NULL : o->command_line;
}

struct cprof_cgroup *targetopts_cgroup(const struct targetopts *o)
{
	const struct cprof_config *c = &o->config;
	bool is_wanted = c->scope == CPROF_SCOPE_CGROUP ||
			 (c->scope == CPROF_SCOPE_AUTO && !c->no_inherit &&
			  c->callgraph != CPROF_CALLGRAPH_LBR);
	return taskopts_is_command(&o->tasks) && is_wanted ? cprof_cgroup_new(c->scope) : NULL;
}

void targetopts_done(struct targetopts *o)
{
	VEC_FREE(&o->events);
	taskopts_done(&o->tasks);
	free(o->command_line);
}
