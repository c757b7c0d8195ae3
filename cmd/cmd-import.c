/*
 * cprof import: makes profiles from a recording by perf.  From a damaged file it makes profiles of
 * the readable part, then prints the error and ends with status 1.
 */

#include "base/cleanup.h"
#include "base/err.h"
#include "base/log.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/cachedir.h"
#include "cmd/cmd.h"
#include "cmd/filemode.h"
#include "cmd/importsummary.h"
#include "cmd/limitopts.h"
#include "cmd/nameopts.h"
#include "cmd/optparse.h"
#include "cmd/optsets.h"
#include "cmd/output.h"
#include "cmd/signals.h"
#include "cmd/printable.h"
#include "cmd/timelineopt.h"
#include "cprof-import.h"

#include <argp.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum {
	OPT_SYMFS = 256,
	OPT_DEBUG_DIR,
	OPT_CALL_GRAPH,
	OPT_LABEL,
	OPT_LABELS,
	OPT_JSON,
	OPT_NO_SYMBOLS,
	OPT_WAITS,
	OPT_LOCKS,
	OPT_THREADS,
};

struct import {
	struct cprof_import_config config;
	VEC(const char *) labels, debug_dirs;
	const char *output_name;
	struct filemode mode;
	bool quiet, verbose, json;
	struct log log;
	char *cache_dir;
	struct cprof_importer *importer;
	struct output *output;         /* n_written */
	const struct outfile **unfinished; /* their files */
	struct importsummary_file *file;
	size_t n_events, n_written;
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Symbols:", 1 },
	{ "symfs", OPT_SYMFS, "DIR", 0, "Folder that holds the recorded machine's files", 1 },
	{ "debug-dir", OPT_DEBUG_DIR, "DIR", 0,
	  "Also look for programs and debug information by build id in DIR (repeatable)", 1 },
	{ "call-graph", OPT_CALL_GRAPH, "MODE", 0,
	  "Which of the recorded stacks to use: {call-graph}", 1 },

	{ "waits", OPT_WAITS, "LIST", 0,
	  "Profiles of how long threads waited, from samples of switches: {import-waits}; default: "
	  "off-cpu, if the file was recorded for it", 1 },
	{ "locks", OPT_LOCKS, NULL, 0, "Label waits in block and mutex with their lock", 1 },

	{ NULL, 0, NULL, 0, "Output:", 2 },
	{ "output", 'o', "FILE", 0,
	  "Where to write; default: cprof.<event>.pb.gz; - for stdout", 2 },
	FILEMODE_ROW(2),
	{ "label", OPT_LABEL, "KEY=VALUE", 0, "Put a label on every sample (repeatable)", 2 },
	{ "labels", OPT_LABELS, "LIST", 0,
	  "Built-in labels: {import-labels}", 2 },
	TIMELINEOPT_ROW(2),
	{ "quiet", 'q', NULL, 0, "Print only errors and large losses", 2 },
	{ "verbose", 'v', NULL, 0, "Explain what was read and which files were used", 2 },
	{ "json", OPT_JSON, NULL, 0, "Print a summary as one JSON object on stdout", 2 },

	{ "no-symbols", OPT_NO_SYMBOLS, NULL, 0,
	  "Leave out the names of code in files: cprof symbolize can add them later", 6 },

	{ NULL, 0, NULL, 0, "Limits:", 3 },
	LIMITOPTS_MAX_MEMORY_ROW("the profile", 3),
	LIMITOPTS_SYMBOL_TIMEOUT_ROW("10s", 3),
	{ "threads", OPT_THREADS, "N", 0,
	  "Unwind stacks with N threads; default: by the file's size and the CPUs", 3 },
	{ 0 }
};

static void check_end(struct import *m, struct argp_state *state)
{
	if (!m->config.path)
		argp_error(state, "no FILE given");
	filemode_check(&m->mode, state, m->output_name);
	if (m->json && m->output_name && strcmp(m->output_name, "-") == 0)
		argp_error(state, "--json and -o - cannot be combined: both write to stdout");
	if (m->quiet && m->verbose)
		argp_error(state, "-q and -v cannot be combined");
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct import *m = state->input;
	struct cprof_import_config *c = &m->config;
	switch (key) {
	case OPT_SYMFS: c->symfs = arg; break;
	case OPT_DEBUG_DIR:
		optparse_append(state, arg, &m->debug_dirs.v, &m->debug_dirs.n, &m->debug_dirs.cap);
		break;
	case OPT_CALL_GRAPH:
		c->callgraph = (enum cprof_callgraph)optwords_parse(&optsets_callgraph, state,
								    "--call-graph", arg);
		break;
	case OPT_LABEL:
		optparse_label(state, arg, &m->labels.v, &m->labels.n, &m->labels.cap);
		break;
	case OPT_LABELS:
		c->labels = optwords_parse_list(&optsets_import_labels, state, "--labels", arg);
		c->labels_given = true;
		break;
	case OPT_WAITS:
		c->waits = optwords_parse_list(&optsets_import_waits, state, "--waits", arg);
		c->waits_given = true;
		break;
	case OPT_LOCKS: c->locks = true; break;
	case TIMELINEOPT_KEY: c->timeline_ns = timelineopt_parse(state, arg); break;
	case LIMITOPTS_MAX_MEMORY:
		c->max_memory_bytes = limitopts_max_memory(state, arg);
		break;
	case LIMITOPTS_SYMBOL_TIMEOUT:
		c->symbol_timeout_ns = limitopts_symbol_timeout(state, arg);
		break;
	case OPT_THREADS:
		c->n_readers = (uint32_t)optparse_number(state, "--threads", arg, 1,
							 CPROF_READERS_MAX);
		break;
	case OPT_JSON: m->json = true; break;
	case OPT_NO_SYMBOLS: c->naming.no_symbols = true; break;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = state->child_inputs[1] = &c->naming;
		break;
	case 'o': m->output_name = arg; break;
	case 'q': m->quiet = true; break;
	case 'v': m->verbose = true; break;
	case FILEMODE_KEY: filemode_parse(&m->mode, state, arg); break;
	case ARGP_KEY_ARG:
		if (c->path)
			argp_error(state, "more than one FILE");
		c->path = arg;
		break;
	case ARGP_KEY_END:
		check_end(m, state);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return 0;
}

static const struct argp_child children[] = {
	{ &nameopts_argp, 0, NULL, 0 }, { &nameopts_kernel_argp, 0, NULL, 0 }, { 0 }
};
static const struct argp argp = {
	.children = children,
	.options = options,
	.parser = parse,
	.help_filter = optwords_help,
	.args_doc = "FILE\n-",
	.doc = "Make profiles, one gzipped pprof file per event, from a recording by perf.\v"
	       "FILE is a perf.data file of this or another machine; - reads the stream of "
	       "'perf record -o -'.",
};

/* The file name parts of the events that get a file: those with samples. */
static int choose_events(struct import *m, const char **part, size_t *ret_n, struct err *e)
{
	size_t n = 0;
	for (size_t i = 0; i < m->n_events; i++) {
		struct cprof_event_stats ev;
		cprof_importer_event_stats(m->importer, i, &ev);
		if (ev.n_samples + ev.n_lost == 0)
			continue;
		m->file[i].output = n;
		m->file[i].wanted = true;
		part[n++] = ev.file_part;
	}
	*ret_n = n;
	return n ? 0 : err_set(e, ENODATA, "'%s' contains no samples", m->config.path);
}

static int open_outputs(struct import *m, struct err *e)
{
	size_t n = cprof_importer_n_events(m->importer), n_open;
	CLEANUP_FREE const char **part = calloc(n, sizeof(*part));
	m->output = calloc(n, sizeof(*m->output));
	m->file = calloc(n, sizeof(*m->file));
	m->unfinished = calloc(n, sizeof(*m->unfinished));
	if (!part || !m->output || !m->file || !m->unfinished)
		return err_errno(e, ENOMEM, "cannot open the output");
	m->n_events = n;
	int r = choose_events(m, part, &n_open, e);
	if (r < 0)
		return r;
	r = output_open(m->output, part, n_open, m->output_name, NULL, e);
	if (r < 0)
		return r;
	for (size_t i = 0; i < n_open; i++)
		m->unfinished[i] = &m->output[i].file;
	m->n_written = n_open;
	return 0;
}

static int write_outputs(struct import *m, struct err *e)
{
	for (size_t i = 0; i < m->n_events; i++) {
		struct importsummary_file *f = &m->file[i];
		if (!f->wanted)
			continue;
		struct output *o = &m->output[f->output];
		int r = cprof_importer_write(m->importer, i, output_write, o, e);
		if (r < 0) {
			outfile_error(&o->file, e);  /* names the file */
			return r;
		}
		filemode_apply(&m->mode, &o->file);
		f->path = o->path;
		f->n_bytes = o->n_bytes;
	}
	signals_hold();
	return output_commit(m->output, m->n_written, e);
}

static int summarize(const struct import *m, const struct err *damage)
{
	struct importsummary s = {
		.importer = m->importer, .file = m->file, .verbose = m->verbose,
		.no_symbols = m->config.naming.no_symbols,
		.damage = damage->code ? damage->what : NULL,
	};
	if (m->quiet)
		importsummary_print_quiet(&s, stderr);
	else
		importsummary_print(&s, stderr);
	if (!m->json)
		return 0;
	importsummary_print_json(&s, stdout);
	if (fflush(stdout) == 0)
		return 0;
	struct err e;
	err_errno(&e, errno, "cannot write the summary to stdout");
	return cmd_fail("import", &e);
}

static int write_profiles(struct import *m, struct err *e)
{
	int r = open_outputs(m, e);
	if (r < 0)
		return r;
	signals_abort_on(m->unfinished, m->n_written);
	return write_outputs(m, e);
}

static int import_file(struct import *m, struct err *e)
{
	struct err damage = { 0 };
	int r = cprof_importer_new(&m->config, &m->importer, e);
	if (r < 0)
		return r;
	filemode_add_inputs(&m->mode, &m->config.path, 1);
	cprof_importer_run(m->importer, &damage);
	/* Pages that are gone were read as zeros: an older output is worth more. */
	if (damage.code == -ESTALE) {
		*e = damage;
		return damage.code;
	}
	r = write_profiles(m, e);
	if (r >= 0 && summarize(m, &damage) != 0)
		return -EIO;
	/* The damage explains why there is no profile. */
	if (damage.code)
		*e = damage;
	return damage.code ? damage.code : r;
}

static int run_import(int argc, char **argv)
{
	static char name[] = "cprof import";
	struct import m = { .log = { .line = cmd_log_line, .ctx = (void *)"import" } };
	struct err e = { 0 };
	argv[0] = name;
	argp_parse(&argp, argc, argv, 0, NULL, &m);
	m.log.max = m.verbose ? LOG_EXPLAIN : LOG_NOTE;
	if (m.quiet)
		m.log.line = NULL;
	signal(SIGPIPE, SIG_IGN);
	m.config.n_readers = m.config.n_readers ? m.config.n_readers : CPROF_READERS_AUTO;
	m.config.label = m.labels.v;
	m.config.n_labels = m.labels.n;
	m.config.debug_dir = m.debug_dirs.v;
	m.config.n_debug_dirs = m.debug_dirs.n;
	m.config.log = &m.log;
	m.config.maps = signals_guard_maps();
	m.config.cache_dir = m.cache_dir = cachedir_path();
	int r = import_file(&m, &e);
	if (r < 0 && e.what[0])
		cmd_fail("import", &e);
	for (size_t i = 0; i < m.n_written; i++)
		output_done(&m.output[i]);
	signals_abort_on(NULL, 0);  /* the names are freed next */
	free(m.output);
	free(m.file);
	free(m.unfinished);
	free(m.cache_dir);
	cprof_importer_free(m.importer);
	VEC_FREE(&m.labels);
	VEC_FREE(&m.debug_dirs);
	return r < 0 ? CMD_FAILED : 0;
}

const struct cmd cmd_import = {
	.name = "import",
	.help = "make profiles from a recording by perf",
	.argp = &argp,
	.run = run_import,
};
