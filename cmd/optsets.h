#ifndef CPROF_CMD_OPTSETS_H
#define CPROF_CMD_OPTSETS_H

/* The sets of words that options take; their values are the constants named here. */

#include "cmd/optwords.h"

extern const struct optwords optsets_scope;          /* enum cprof_scope */
extern const struct optwords optsets_realtime;       /* bool */
extern const struct optwords optsets_runtime_names;  /* bool: auto */
extern const struct optwords optsets_callgraph;      /* enum cprof_callgraph */
extern const struct optwords optsets_labels;         /* enum cprof_label */
extern const struct optwords optsets_import_labels;  /* the same, of recordings by perf */
extern const struct optwords optsets_import_waits;   /* enum cprof_import_waits */
extern const struct optwords optsets_demangle;       /* enum cprof_demangle */
extern const struct optwords optsets_debuginfod;     /* enum cprof_debuginfod */
extern const struct optwords optsets_control;        /* no values */
extern const struct optwords optsets_signal;         /* the signal's number */
extern const struct optwords optsets_switch_output;  /* no values */
extern const struct optwords optsets_by;             /* names of kinds of rows */
extern const struct optwords optsets_go_format;      /* debug=1, debug=2 */
extern const struct optwords optsets_go_labels;      /* enum cprof_go_labels */
extern const struct optwords optsets_fault_unit;     /* true: bytes */
extern const struct optwords optsets_heap;           /* enum recordopts_heap, from 1 */
extern const struct optwords optsets_stop;           /* enum cprof_snapshot_stop */
extern const struct optwords optsets_interpreter;    /* enum cprof_interpreter */
extern const struct optwords optsets_sort;           /* enum top_order */
extern const struct optwords optsets_to;             /* names of formats */
extern const struct optwords optsets_from;           /* names of formats */
extern const struct optwords optsets_unit;           /* no values */
extern const struct optwords optsets_consumers;      /* numbers of pprof-check.h */

#endif
