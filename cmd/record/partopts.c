/*
 * Values are taken apart here; what is done with them is in recordloop.c and partwriter.c.
 */
#include "cmd/record/partopts.h"

#include "base/units.h"
#include "cmd/cmd.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

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
	  "Take commands from fd:CTL[,ACK] or fifo:CTL[,ACK], as perf record does", 7 },
	{ "snapshot-signal", OPT_SNAPSHOT_SIGNAL, "SIGNAL", OPTION_ARG_OPTIONAL,
	  "Write the profile so far at this signal; default: USR2", 7 },
	{ "switch-output", OPT_SWITCH_OUTPUT, "WHEN", OPTION_ARG_OPTIONAL,
	  "Begin a new file at SIGUSR2 (signal), after a TIME (30s), or a SIZE (10M) of records",
	  7 },
	{ "switch-max-files", OPT_SWITCH_MAX_FILES, "N", 0,
	  "Keep only the last N files with stamps in their names", 7 },
	{ "last", OPT_LAST, "TIME", 0,
	  "Keep only the last TIME: a flight recorder, written at the end or when asked for", 7 },
	{ "trigger", OPT_TRIGGER, "CONDITION", 0,
	  "Write the profile so far when cpu>80%, rss>1G, threads>100 ... [for TIME] holds", 7 },
	{ 0 }
};

static int parse_signal(struct argp_state *state, const char *arg)
{
	static const struct { const char *name; int number; } known[] = {
		{ "USR1", SIGUSR1 }, { "USR2", SIGUSR2 }, { "WINCH", SIGWINCH },
		{ "URG", SIGURG }, { "IO", SIGIO }, { "PWR", SIGPWR },
	};
	uint64_t number = 0;
	const char *name = strncmp(arg, "SIG", 3) == 0 ? arg + 3 : arg;
	units_parse_u64(arg, &number);
	if (number >= (uint64_t)SIGRTMIN && number <= (uint64_t)SIGRTMAX)
		return (int)number;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strcmp(name, known[i].name) == 0 || number == (uint64_t)known[i].number)
			return known[i].number;
	argp_error(state,
		   "--snapshot-signal '%s': it is USR1, USR2, WINCH, URG, IO, PWR or a number "
		   "from %d to %d", arg, SIGRTMIN, SIGRTMAX);
	return 0;
}

static void parse_control(struct argp_state *state, const char *arg, struct partopts *o)
{
	control_place_done(&o->control);
	int code = control_parse_place(arg, &o->control);
	if (code == -ENOMEM)
		argp_failure(state, CMD_FAILED, ENOMEM, "cannot parse options");
	if (code < 0)
		argp_error(state, "--control '%s': it is fd:CTL[,ACK] or fifo:CTL[,ACK]", arg);
	o->has_control = code == 0;
}

static void parse_rotate(struct argp_state *state, const char *arg, struct partopts *o)
{
	if (rotate_parse(arg, &o->rotate) < 0)
		argp_error(state,
			   "--switch-output '%s': it is signal, a size (B, K, M, G) as 10M, or a "
			   "time (ms, s, m, h, d) as 30s", arg);
}

static void parse_max_files(struct argp_state *state, const char *arg, struct partopts *o)
{
	uint64_t n = 0;
	if (units_parse_u64(arg, &n) < 0 || n == 0 || n > 1000000)
		argp_error(state, "--switch-max-files '%s' is not a number from 1 to 1000000",
			   arg);
	o->max_files = (size_t)n;
}

static void check_end(struct partopts *o, struct argp_state *state)
{
	if (o->rotate.kind != ROTATE_NEVER && o->signal)
		argp_error(state, "--switch-output and --snapshot-signal exclude each other: one "
				  "begins a new profile, the other goes on with it");
	if (o->rotate.kind != ROTATE_NEVER && (o->last_ns || o->trigger.text))
		argp_error(state, "--switch-output does not go with --last or --trigger: its files "
				  "hold everything");
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
		if (units_parse_duration(arg, &o->last_ns) < 0 || o->last_ns < 20000000)
			argp_error(state, "--last '%s' is not a time of at least 20ms", arg);
		break;
	case OPT_TRIGGER:
		if (trigger_parse(arg, &o->trigger) < 0)
			argp_error(state,
				   "--trigger '%s': it is cpu, rss or threads, > or <, and a "
				   "number with %% (cpu) or K, M, G (rss), as in 'cpu>80%%' or "
				   "'rss>1G for 10s'", arg);
		break;
	case OPT_SWITCH_MAX_FILES: parse_max_files(state, arg, o); break;
	case ARGP_KEY_END: check_end(o, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

const struct argp partopts_argp = { .options = options, .parser = parse };

void partopts_done(struct partopts *o)
{
	control_place_done(&o->control);
}
