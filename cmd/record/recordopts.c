/*
 * The options of cprof record that cprof top does not share.  Only parses each value; the library
 * checks whether they fit together.
 */
#include "cmd/record/recordopts.h"

#include "base/units.h"
#include "cmd/limitopts.h"
#include "cmd/nameopts.h"
#include "cmd/optparse.h"
#include "cmd/optsets.h"
#include "cmd/timelineopt.h"

#include <string.h>

/* More runs than anybody waits for. */
#define REPEAT_MAX 10000

enum {
	OPT_DURATION = 256, OPT_DELAY, OPT_LABEL, OPT_LABELS, OPT_STRICT,
	OPT_SCALE, OPT_JSON, OPT_NO_SYMBOLS, OPT_EXCLUSIVE, OPT_REPEAT, OPT_LOCKS,
	OPT_INTERPRETER, OPT_ALLOC, OPT_HEAP, OPT_DELTA, OPT_AGE,
	OPT_GO_LABELS, OPT_GO_GOROUTINES, OPT_AGAINST,
};

static const struct argp_option options[] = {
	{ "alloc", OPT_ALLOC, NULL, 0,
	  "Sample where memory is allocated: blocks and bytes, one sample in -c bytes", 2 },
	{ "heap", OPT_HEAP, "WHEN", OPTION_ARG_OPTIONAL,
	  "The same, and which of these blocks are still in use: {heap}; peak, the default for "
	  "commands, is when most was in use, and the end", 2 },
	{ "age", OPT_AGE, NULL, 0,
	  "With --heap: label blocks in use by their age, in powers of two of seconds", 2 },
	{ "delta", OPT_DELTA, NULL, 0,
	  "With --heap: what is in use less what was at the start of the profile", 2 },
	{ "scale", OPT_SCALE, NULL, 0,
	  "Scale the values of events that took turns to the whole time", 2 },

	{ NULL, 0, NULL, 0, "When:", 3 },
	{ "duration", OPT_DURATION, "TIME", 0, "Stop after TIME: 5, 1.5s, 250ms, 2m", 3 },
	{ "delay", OPT_DELAY, "TIME", 0,
	  "Leave out what happens in the first TIME; -1: until --control sends enable", 3 },
	{ "exclusive", OPT_EXCLUSIVE, NULL, 0,
	  "Wait until no other recording with this option runs on the machine", 3 },
	{ "repeat", OPT_REPEAT, "N", 0,
	  "Run the command N times: one profile, and how much each function's share varies", 3 },
	{ "against", OPT_AGAINST, "FILE=COMMAND", 0,
	  "With --repeat: run COMMAND in turns with the command, into FILE, to compare them", 3 },
	{ NULL, 'D', "MS", 0, "Like --delay, in milliseconds or -1, as in perf record", 3 },

	{ NULL, 0, NULL, 0, "Output:", 4 },
	{ "output", 'o', "FILE", 0,
	  "Where to write; default: cprof.<event>.pb.gz; - for stdout", 4 },
	FILEMODE_ROW(4),
	{ "label", OPT_LABEL, "KEY=VALUE", 0, "Put a label on every sample (repeatable)", 4 },
	{ "labels", OPT_LABELS, "LIST", 0, "Built-in labels: {labels}", 4 },
	TIMELINEOPT_ROW(4),
	{ "locks", OPT_LOCKS, NULL, 0,
	  "In block and mutex, label waits with their lock and its holder", 4 },
	{ "interpreter", OPT_INTERPRETER, "WHAT", 0,
	  "functions of interpreters alone, with native ones, or not at all: {interpreter}", 4 },
	{ "go-labels", OPT_GO_LABELS, "HOW", 0,
	  "How labels of goroutines are recorded: {go-labels}", 4 },
	{ "go-goroutines", OPT_GO_GOROUTINES, NULL, 0,
	  "Label samples of Go programs with the number of their goroutine", 4 },
	{ "strict", OPT_STRICT, NULL, 0, "Exit with status 2 if anything was lost", 4 },
	{ "quiet", 'q', NULL, 0, "Print only errors and large losses", 4 },
	{ "verbose", 'v', NULL, 0, "Explain what was opened, chosen and found", 4 },
	{ "json", OPT_JSON, NULL, 0, "Print a summary as one JSON object on stdout", 4 },

	LIMITOPTS_SYMBOL_TIMEOUT_ROW("10s", 5),
	{ "no-symbols", OPT_NO_SYMBOLS, NULL, 0,
	  "Leave out the names of code in files: cprof symbolize can add them later",
	  NAMEOPTS_GROUP },
	{ 0 }
};

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
		c->delay_ns = optparse_time(state, option, arg, 0, UINT64_MAX);
		return;
	}
	if (units_parse_u64(arg, &ms) < 0 || ms > UINT64_MAX / 1000000)
		argp_error(state, "-D '%s' is not -1 or a number of milliseconds", arg);
	c->delay_ns = ms * 1000000;
}

/* Standard output takes one profile only. */
static void check_stdout(const struct recordopts *o, struct argp_state *state)
{
	const char *several = o->part.rotate.kind != ROTATE_NEVER ? "--switch-output" :
			      o->part.trigger.text ? "--trigger" :
			      o->part.signal ? "--snapshot-signal" : NULL;
	if (!o->output || strcmp(o->output, "-") != 0)
		return;
	if (o->json)
		argp_error(state, "--json and -o - cannot be combined: both write to stdout");
	if (several)
		argp_error(state, "%s writes several files, which -o - cannot take", several);
}

static void check_end(const struct recordopts *o, struct argp_state *state)
{
	check_stdout(o, state);
	filemode_check(&o->mode, state, o->output);
	if (o->target.config.go_ids && o->target.config.go_labels == CPROF_GO_LABELS_OFF)
		argp_error(state, "--go-goroutines and --go-labels=off cannot be combined");
	if (o->target.config.start_paused && !o->part.has_control)
		argp_error(state, "--delay -1 begins disabled, and only --control can enable it");
	if (o->target.config.delta && o->target.config.kind != cprof_heap_recorder())
		argp_error(state, "--delta needs --heap");
	if (o->target.config.age && o->target.config.kind != cprof_heap_recorder())
		argp_error(state, "--age needs --heap");
	if (o->target.config.delta && o->heap == RECORDOPTS_HEAP_PEAK)
		argp_error(state, "--delta shows changes, which have no peak");
	if (o->target.config.timeline_ns && o->is_memory)
		argp_error(state, "--timeline cannot be combined with --alloc or --heap");
	if (o->quiet && o->verbose)
		argp_error(state, "-q and -v cannot be combined");
	if (o->repeat && !o->target.tasks.command)
		argp_error(state, "--repeat needs a command to run");
	if (o->against.text && !o->repeat)
		argp_error(state, "--against needs --repeat");
	if (o->repeat && (o->part.has_control || o->part.signal || o->part.last_ns ||
			  o->part.trigger.text || o->part.rotate.kind != ROTATE_NEVER))
		argp_error(state, "--repeat makes one profile of whole runs: give no "
			   "--control, --snapshot-signal, --switch-output, --last or --trigger");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct recordopts *o = state->input;
	struct cprof_config *c = &o->target.config;
	switch (key) {
	case ARGP_KEY_INIT:
		targetopts_set_inputs(&o->target, state);
		state->child_inputs[TARGETOPTS_N_CHILDREN] = &o->part;
		break;
	case 'o':
		if (!*arg)
			argp_error(state, "-o needs the name of a file");
		o->output = arg;
		break;
	case FILEMODE_KEY: filemode_parse(&o->mode, state, arg); break;
	case 'q': o->quiet = true; break;
	case 'v': o->verbose = true; break;
	case 'D': parse_delay(state, "-D", arg, c); break;
	case OPT_DELAY: parse_delay(state, "--delay", arg, c); break;
	case OPT_DURATION:
		o->duration_ns = optparse_time(state, "--duration", arg, 1, UINT64_MAX);
		break;
	case OPT_EXCLUSIVE: o->exclusive = true; break;
	case OPT_REPEAT:
		o->repeat = (unsigned)optparse_number(state, "--repeat", arg, 2, REPEAT_MAX);
		break;
	case OPT_AGAINST: against_parse(&o->against, state, arg); break;
	case OPT_JSON: o->json = true; break;
	case OPT_LABEL:
		optparse_label(state, arg, &o->labels.v, &o->labels.n, &o->labels.cap);
		break;
	case OPT_LABELS:
		c->labels = optwords_parse_list(&optsets_labels, state, "--labels", arg);
		c->labels_given = true;
		break;
	case TIMELINEOPT_KEY:
		c->timeline_ns = timelineopt_parse(state, arg);
		break;
	case OPT_LOCKS: c->locks = true; break;
	case OPT_ALLOC:
	case OPT_HEAP:
		if (o->is_memory)
			argp_error(state, "--alloc and --heap, which includes it, go alone");
		o->is_memory = true;
		c->kind = key == OPT_HEAP ? cprof_heap_recorder() : cprof_alloc_recorder();
		if (arg && key == OPT_HEAP)
			o->heap = (enum recordopts_heap)optwords_parse(&optsets_heap, state,
								       "--heap", arg);
		break;
	case OPT_DELTA: c->delta = true; break;
	case OPT_AGE: c->age = true; break;
	case OPT_INTERPRETER:
		c->interpreter = (enum cprof_interpreter)optwords_parse(
			&optsets_interpreter, state, "--interpreter", arg);
		break;
	case OPT_GO_LABELS:
		c->go_labels = (enum cprof_go_labels)optwords_parse(&optsets_go_labels, state,
								    "--go-labels", arg);
		break;
	case OPT_GO_GOROUTINES: c->go_ids = true; break;
	case OPT_NO_SYMBOLS: c->naming.no_symbols = true; break;
	case OPT_SCALE: c->scale = true; break;
	case OPT_STRICT: o->strict = true; break;
	case LIMITOPTS_SYMBOL_TIMEOUT:
		c->symbol_timeout_ns = limitopts_symbol_timeout(state, arg);
		break;
	case ARGP_KEY_END: check_end(o, state); break;
	default: return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = { TARGETOPTS_CHILDREN, { &partopts_argp, 0, NULL, 0 },
					      { 0 } };
const struct argp recordopts_argp = {
	.children = children,
	.options = options,
	.parser = parse,
	.help_filter = optwords_help,
	.args_doc = TARGETOPTS_ARGS_DOC,
	.doc = "Record a profile, one gzipped pprof file per event.\v"
	       "Exit status: 0 done, 1 failed, 2 incomplete (--strict), 64 usage; after a "
	       "recorded command its own status, 126 or 127 when it could not be run.",
};

/* Many commands free everything before they end. */
static bool is_peak_shown(const struct recordopts *o)
{
	if (o->target.config.kind != cprof_heap_recorder() || o->target.config.delta)
		return false;
	return o->heap == RECORDOPTS_HEAP_PEAK ||
	       (o->heap == RECORDOPTS_HEAP_AUTO && taskopts_is_command(&o->target.tasks));
}

void recordopts_parse(struct recordopts *o, int argc, char **argv)
{
	*o = (struct recordopts){ 0 };
	targetopts_init(&o->target, argc, argv);
	argp_parse(&recordopts_argp, argc, argv, ARGP_IN_ORDER, NULL, o);
	targetopts_finish(&o->target);
	o->target.config.peak = is_peak_shown(o);
	o->target.config.pausable = o->part.has_control;
	o->target.config.keep_last_ns = o->part.last_ns;
	o->target.config.label = o->labels.v;
	o->target.config.n_labels = o->labels.n;
}

void recordopts_done(struct recordopts *o)
{
	VEC_FREE(&o->labels);
	against_done(&o->against);
	targetopts_done(&o->target);
	partopts_done(&o->part);
}
