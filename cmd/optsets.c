/* An option that takes words has its set here, or, where another table has the words, beside it. */

#include "cmd/optsets.h"

#include "cprof-import.h"
#include "cprof-names.h"
#include "cprof.h"
#include "proto/pprof-check.h"
#include "view/convert/format.h"
#include "view/model/scale.h"
#include "view/table/rows.h"
#include "view/table/top.h"

#include <signal.h>

#define WORDS(...) ((const struct optword[]){ __VA_ARGS__, { 0 } })

const struct optwords optsets_scope = {
	.name = "scope",
	.word = WORDS({ "auto", CPROF_SCOPE_AUTO, " (the default)" }, { "task", CPROF_SCOPE_TASK },
		      { "cpu", CPROF_SCOPE_CPU }, { "cgroup", CPROF_SCOPE_CGROUP }),
};

const struct optwords optsets_realtime = {
	.name = "realtime",
	.word = WORDS({ "auto", true, " (the default)" }, { "no", false }),
};

const struct optwords optsets_interpreter = {
	.name = "interpreter",
	.word = WORDS({ "auto", CPROF_INTERPRETER_AUTO, " (the default)" },
		      { "mixed", CPROF_INTERPRETER_MIXED }, { "only", CPROF_INTERPRETER_ONLY },
		      { "none", CPROF_INTERPRETER_NONE }),
};

const struct optwords optsets_runtime_names = {
	.name = "runtime-names",
	.word = WORDS({ "auto", true, " (the default)" }, { "off", false }),
};

const struct optwords optsets_go_labels = {
	.name = "go-labels",
	.word = WORDS({ "auto", CPROF_GO_LABELS_AUTO, " (the default)" },
		      { "exact", CPROF_GO_LABELS_EXACT }, { "late", CPROF_GO_LABELS_LATE },
		      { "off", CPROF_GO_LABELS_OFF }),
};

const struct optwords optsets_fault_unit = {
	.name = "fault-unit",
	.word = WORDS({ "count", false, " (the default)" }, { "bytes", true, " of their pages" }),
};

const struct optwords optsets_heap = {
	.name = "heap",
	.word = WORDS({ "end", 1 }, { "peak", 2 }),
};

const struct optwords optsets_stop = {
	.name = "stop",
	.word = WORDS({ "never", CPROF_STOP_NEVER, " (the default)" },
		      { "running", CPROF_STOP_RUNNING }, { "all", CPROF_STOP_ALL }),
};

const struct optwords optsets_go_format = {
	.name = "format",
	.word = WORDS({ "go1", 1 }, { "go2", 2 }),
};

const struct optwords optsets_callgraph = {
	.name = "call-graph",
	.word = WORDS({ "auto", CPROF_CALLGRAPH_AUTO, " (the default)" },
		      { "dwarf", CPROF_CALLGRAPH_DWARF }, { "fp", CPROF_CALLGRAPH_FP },
		      { "lbr", CPROF_CALLGRAPH_LBR }, { "none", CPROF_CALLGRAPH_NONE }),
};

/* perf.data has neither titles nor cgroups for labels, so those are first. */
static const struct optword labels[] = {
	{ "process_title", CPROF_LABEL_PROCESS_TITLE }, { "cgroup", CPROF_LABEL_CGROUP },
	{ "pid", CPROF_LABEL_PID }, { "tid", CPROF_LABEL_TID },
	{ "thread_name", CPROF_LABEL_THREAD_NAME }, { "process_name", CPROF_LABEL_PROCESS_NAME },
	{ "cpu", CPROF_LABEL_CPU }, { "stack", CPROF_LABEL_STACK }, { "none", 0 }, { 0 }
};
const struct optwords optsets_labels = { .name = "labels", .word = labels, .is_list = true };
const struct optwords optsets_import_labels = {
	.name = "import-labels", .word = labels + 2, .is_list = true,
};

const struct optwords optsets_import_waits = {
	.name = "import-waits",
	.word = WORDS({ "off-cpu", CPROF_IMPORT_OFF_CPU }, { "wall", CPROF_IMPORT_WALL },
		      { "block", CPROF_IMPORT_BLOCK }, { "mutex", CPROF_IMPORT_MUTEX },
		      { "none", 0 }),
	.is_list = true,
};

const struct optwords optsets_demangle = {
	.name = "demangle",
	.word = WORDS({ "simple", CPROF_DEMANGLE_SIMPLE, " (the default)" },
		      { "full", CPROF_DEMANGLE_FULL, " (as c++filt)" },
		      { "none", CPROF_DEMANGLE_NONE }),
};

const struct optwords optsets_debuginfod = {
	.name = "debuginfod", .word = WORDS({ "auto", CPROF_DEBUGINFOD_AUTO }),
};

const struct optwords optsets_control = {
	.name = "control", .word = WORDS({ "fd:", 0, "CTL[,ACK]" }, { "fifo:", 0, "CTL[,ACK]" }),
};

const struct optwords optsets_signal = {
	.name = "signal",
	.word = WORDS({ "USR2", SIGUSR2, " (the default)" }, { "USR1", SIGUSR1 },
		      { "WINCH", SIGWINCH }, { "URG", SIGURG }, { "IO", SIGIO }, { "PWR", SIGPWR }),
	.other = "the number of a real-time signal",
};

const struct optwords optsets_switch_output = {
	.name = "switch-output", .word = WORDS({ "signal", 0, " (at SIGUSR2, the default)" }),
	.other = "after a TIME (30s) or a SIZE (10M) of records",
};

const struct optwords optsets_by = {
	.name = "by", .name_at = rows_kind_name, .other = "the value of the label WHAT",
};

const struct optwords optsets_sort = { .name = "sort", .name_at = top_order_name };
const struct optwords optsets_unit = { .name = "unit", .name_at = scale_unit_name };

const struct optwords optsets_to = { .name = "to", .name_at = format_output_name };
const struct optwords optsets_from = { .name = "from", .name_at = format_input_name };

static const char *consumer_at(size_t i)
{
	return i < PPROF_N_CONSUMERS ? pprof_consumer_name((unsigned)i) : NULL;
}
const struct optwords optsets_consumers = {
	.name = "consumers", .name_at = consumer_at, .is_list = true,
};

const struct optwords *const optwords_sets[] = {
	&optsets_scope, &optsets_realtime, &optsets_runtime_names,
	&optsets_callgraph, &optsets_labels,
	&optsets_import_labels, &optsets_import_waits, &optsets_demangle, &optsets_debuginfod,
	&optsets_control,
	&optsets_signal, &optsets_switch_output, &optsets_by, &optsets_sort, &optsets_unit,
	&optsets_from, &optsets_consumers, &optsets_to, &optsets_fault_unit, &optsets_stop,
	&optsets_interpreter, &optsets_go_format, &optsets_go_labels, &optsets_heap, NULL
};
