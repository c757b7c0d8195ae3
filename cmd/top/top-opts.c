/* The command line of cprof top: what to record, as for cprof record, and how to show it. */

#include "cmd/top/top-state.h"

#include "base/clock.h"
#include "cmd/limitopts.h"
#include "cmd/nameopts.h"
#include "cmd/optparse.h"

#include <argp.h>
#include <stdio.h>
#include <string.h>

/* One file's debug information must not keep the display waiting. */
#define SYMBOL_TIMEOUT_NS (2 * (uint64_t)CLOCK_SECOND_NS)
#define LIMIT_BATCH 20u

enum {
	OPT_BATCH = 700, OPT_WINDOW, OPT_LIMIT, OPT_WALL, OPT_OFF_CPU, OPT_IDLE, OPT_LOCKS,
};

static const struct argp_option options[] = {
	LIMITOPTS_SYMBOL_TIMEOUT_ROW("2s", NAMEOPTS_GROUP),

	{ "wall", OPT_WALL, NULL, 0,
	  "All time of the threads, running and waiting: -e wall", 2 },
	{ "off-cpu", OPT_OFF_CPU, NULL, 0, "Where threads wait: -e off-cpu", 2 },
	{ "locks", OPT_LOCKS, NULL, 0,
	  "Which locks threads wait for, and who holds them: -e block with a table of locks", 2 },

	{ NULL, 0, NULL, 0, "Display:", 10 },
	{ "idle", OPT_IDLE, NULL, 0,
	  "With waits: show threads that only wait for work, too, as the key i does", 10 },
	{ "batch", OPT_BATCH, "N", 0, "Print N refreshes as text and exit; needs no terminal", 10 },
	{ "interval", 'd', "TIME", 0, "Time between refreshes; default: 1s", 10 },
	{ "window", OPT_WINDOW, "TIME", 0,
	  "Length of the window that the columns LAST cover; default: 10s", 10 },
	{ "limit", OPT_LIMIT, "N", 0,
	  "Show at most N functions; default: what fits, or 20 with --batch; 0: all", 10 },
	{ "output", 'o', "FILE", 0,
	  "File that the key w writes; default: cprof-top.1.pb.gz, then .2 ...", 10 },
	FILEMODE_ROW(10),
	{ 0 }
};

/* -e mutex has locks, too, and the user may want it alone. */
static bool has_locks(const struct targetopts *r)
{
	for (size_t i = 0; i < r->events.n; i++)
		if (strstr(r->events.v[i], "block") || strstr(r->events.v[i], "mutex"))
			return true;
	return false;
}

static uint64_t parse_time(struct argp_state *state, const char *option, const char *arg)
{
	return optparse_time(state, option, arg, CLOCK_SECOND_NS / 10,
			     3600 * (uint64_t)CLOCK_SECOND_NS);
}

static void add_event(struct top_state *top, struct argp_state *state, const char *event)
{
	struct targetopts *r = &top->rec;
	optparse_append(state, event, &r->events.v, &r->events.n, &r->events.cap);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct top_state *top = state->input;
	struct top_options *o = &top->o;
	switch (key) {
	case ARGP_KEY_INIT: targetopts_set_inputs(&top->rec, state); return 0;
	case OPT_BATCH: o->batch = optparse_number(state, "--batch", arg, 1, UINT32_MAX); return 0;
	case OPT_WALL: add_event(top, state, "wall"); return 0;
	case OPT_OFF_CPU: add_event(top, state, "off-cpu"); return 0;
	case OPT_LOCKS: o->wants_locks = top->rec.config.locks = true; return 0;
	case OPT_IDLE: o->wants_idle = true; return 0;
	case 'd': o->interval_ns = parse_time(state, "--interval", arg); return 0;
	case OPT_WINDOW: o->window_ns = parse_time(state, "--window", arg); return 0;
	case LIMITOPTS_SYMBOL_TIMEOUT:
		o->symbol_timeout_ns = parse_time(state, "--symbol-timeout", arg);
		return 0;
	case OPT_LIMIT: o->limit = optparse_number(state, "--limit", arg, 0, UINT32_MAX); return 0;
	case 'o': o->output = arg; return 0;
	case FILEMODE_KEY: filemode_parse(&o->mode, state, arg); return 0;
	case ARGP_KEY_END:
		if (o->wants_locks && !has_locks(&top->rec))
			add_event(top, state, "block");
		if (o->limit == UINT64_MAX)
			o->limit = o->batch ? LIMIT_BATCH : 0;
		if (o->batch && o->output)
			argp_error(state, "--output is for the key w, but --batch has no keys");
		if (o->batch && o->mode.is_given)
			argp_error(state, "--mode is for the key w, but --batch has no keys");
		if (o->window_ns < o->interval_ns)
			o->window_ns = o->interval_ns;
		if (o->window_ns / o->interval_ns > 600)
			argp_error(state, "--window is more than 600 times --interval");
		return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = { TARGETOPTS_CHILDREN, { 0 } };
const struct argp top_argp = {
	.children = children,
	.options = options,
	.parser = parse,
	.args_doc = TARGETOPTS_ARGS_DOC,
	.doc = "Show live which functions and threads cost most.\v"
	       "Keys: h shows them, q quits. A command's output goes to /dev/null if it would go "
	       "to the terminal, and the command ends with cprof top.",
};

static void describe_target(struct top_state *top)
{
	const struct cprof_config *c = &top->rec.config;
	size_t n = 0, size = sizeof(top->target);
	if (c->all_processes) {
		snprintf(top->target, size, "all processes%s%s",
			 c->cpus ? " on CPUs " : "", c->cpus ? c->cpus : "");
		return;
	}
	if (taskopts_is_command(&top->rec.tasks)) {
		snprintf(top->target, size, "%s", top->rec.tasks.command[0]);
		return;
	}
	for (size_t i = 0; i < c->n_pids && n < size; i++)
		n += (size_t)snprintf(top->target + n, size - n, "%sPID %d", i ? ", " : "",
				      (int)c->pid[i]);
	for (size_t i = 0; i < c->n_tids && n < size; i++)
		n += (size_t)snprintf(top->target + n, size - n, "%sTID %d", n ? ", " : "",
				      (int)c->tid[i]);
}

void top_opts_parse(struct top_state *top, int argc, char **argv)
{
	top->o = (struct top_options){ .interval_ns = CLOCK_SECOND_NS, .limit = UINT64_MAX,
				       .window_ns = 10 * (uint64_t)CLOCK_SECOND_NS,
				       .symbol_timeout_ns = SYMBOL_TIMEOUT_NS };
	targetopts_init(&top->rec, argc, argv);
	argp_parse(&top_argp, argc, argv, ARGP_IN_ORDER, NULL, top);
	targetopts_finish(&top->rec);
	struct cprof_config *c = &top->rec.config;
	c->labels = CPROF_LABEL_PID | CPROF_LABEL_TID | CPROF_LABEL_THREAD_NAME;
	c->labels_given = true;
	c->symbol_timeout_ns = top->o.symbol_timeout_ns;
	describe_target(top);
}
