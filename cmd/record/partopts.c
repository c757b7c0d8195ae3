/*
 * Only parses the values; recordloop.c and partwriter.c use them.
 */
#include "cmd/record/partopts.h"

#include "base/units.h"
#include "cmd/optparse.h"
#include "cmd/optsets.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

/* A shorter time would contain hardly any samples. */
#define LAST_MIN_NS 20000000

enum {
	OPT_CONTROL = 2048,
	OPT_SNAPSHOT_SIGNAL,
	OPT_SWITCH_OUTPUT,
	OPT_SWITCH_MAX_FILES,
	OPT_LAST,
	OPT_TRIGGER,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "While it runs:", 7 },
	{ "control", OPT_CONTROL, "PLACE", 0,
	  "Take commands, as perf record does, from {control}", 7 },
	{ "snapshot-signal", OPT_SNAPSHOT_SIGNAL, "SIGNAL", OPTION_ARG_OPTIONAL,
	  "Write the profile so far at this signal: {signal}", 7 },
	{ "switch-output", OPT_SWITCH_OUTPUT, "WHEN", OPTION_ARG_OPTIONAL,
	  "When to start a new file: {switch-output}", 7 },
	{ "switch-max-files", OPT_SWITCH_MAX_FILES, "N", 0,
	  "Keep only the last N files with stamps in their names", 7 },
	{ "last", OPT_LAST, "TIME", 0,
	  "Keep only the last TIME: a flight recorder, written at the end or on request", 7 },
	{ "trigger", OPT_TRIGGER, "CONDITION", 0,
	  "Write the profile so far when cpu>80%, rss>1G, threads>100 ... [for TIME] holds", 7 },
	{ 0 }
};

static int parse_signal(struct argp_state *state, const char *arg)
{
	uint64_t number = 0;
	int known;
	const char *name = strncmp(arg, "SIG", 3) == 0 ? arg + 3 : arg;
	units_parse_u64(arg, &number);
	if (number >= (uint64_t)SIGRTMIN && number <= (uint64_t)SIGRTMAX)
		return (int)number;
	for (size_t i = 0; optwords_at(&optsets_signal, i, &known); i++)
		if (number == (uint64_t)known)
			return known;
	return optwords_parse(&optsets_signal, state, "--snapshot-signal", name);
}

static void parse_control(struct argp_state *state, const char *arg, struct partopts *o)
{
	char text[OPTWORDS_TEXT_MAX];
	control_place_done(&o->control);
	int r = control_parse_place(arg, &o->control);
	if (r == -ENOMEM)
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	if (r < 0)
		argp_error(state, "--control '%s': it must be %s", arg,
			   optwords_text(&optsets_control, true, text));
	o->has_control = r == 0;
}

static void parse_rotate(struct argp_state *state, const char *arg, struct partopts *o)
{
	if (rotate_parse(arg, &o->rotate) < 0)
		argp_error(state,
			   "--switch-output '%s': it must be signal, a size (B, K, M, G) like 10M, "
			   "or a time (ms, s, m, h, d) like 30s", arg);
}

static void check_end(struct partopts *o, struct argp_state *state)
{
	if (o->rotate.kind != ROTATE_NEVER && o->signal)
		argp_error(state, "--switch-output and --snapshot-signal cannot be combined: one "
				  "starts a new profile, the other continues it");
	if (o->rotate.kind != ROTATE_NEVER && (o->last_ns || o->trigger.text))
		argp_error(state, "--switch-output cannot be combined with --last or --trigger: "
				  "its files contain everything");
	if (o->max_files && o->rotate.kind == ROTATE_NEVER && !o->signal && !o->has_control &&
	    !o->trigger.text)
		argp_error(state, "--switch-max-files needs --switch-output, --snapshot-signal, "
				  "--trigger or --control");
	if (o->rotate.kind != ROTATE_NEVER)
		o->signal = SIGUSR2;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct partopts *o = state->input;
	switch (key) {
	case OPT_CONTROL: parse_control(state, arg, o); break;
	case OPT_SNAPSHOT_SIGNAL: o->signal = parse_signal(state, arg ? arg : "USR2"); break;
	case OPT_SWITCH_OUTPUT: parse_rotate(state, arg ? arg : "signal", o); break;
	case OPT_LAST:
		o->last_ns = optparse_time(state, "--last", arg, LAST_MIN_NS, UINT64_MAX);
		break;
	case OPT_TRIGGER:
		if (trigger_parse(arg, &o->trigger) < 0)
			argp_error(state,
				   "--trigger '%s': it must be cpu, rss or threads, > or <, and a "
				   "number with %% (cpu) or K, M, G (rss), as in 'cpu>80%%' or "
				   "'rss>1G for 10s'", arg);
		break;
	case OPT_SWITCH_MAX_FILES:
		o->max_files =
			(size_t)optparse_number(state, "--switch-max-files", arg, 1, 1000000);
		break;
	case ARGP_KEY_END: check_end(o, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp partopts_argp = {
	.options = options, .parser = parse, .help_filter = optwords_help,
};

void partopts_done(struct partopts *o)
{
	control_place_done(&o->control);
}
