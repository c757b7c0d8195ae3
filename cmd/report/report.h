#ifndef CPROF_CMD_REPORT_REPORT_H
#define CPROF_CMD_REPORT_REPORT_H

/* The parts of `cprof report`: what was asked for, what was read, and who prints it. */

#include "cmd/term.h"
#include "view/table/diff.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"
#include "view/model/scale.h"
#include "view/table/top.h"
#include "view/table/tree.h"

#include <stdbool.h>
#include <stdint.h>

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_FOLDED };

#define REPORT_LISTS_MAX 64

struct report_options {
	const char **path;                /* the FILEs */
	size_t n_paths;
	const char *sample_type, *unit;
	uint64_t limit;                   /* rows or lines; 0: all */
	bool has_limit;
	enum top_order order;
	enum rows_by by;
	const char *by_name, *label;
	enum report_format format;
	bool wants_tree, wants_disasm;
	const char *caller, *callee, *list;
	struct filter_spec filter;
	const char *tag[REPORT_LISTS_MAX];
	const char *diff_base;
	enum diff_norm norm;
	const char *gate[REPORT_LISTS_MAX];
	size_t n_gates;
	bool no_pager, has_norm, has_sort;
	const char *html, *svg;           /* pictures to write instead of printing */
	bool no_source;
};

/* One profile, filtered and cut into rows. */
struct report_view {
	struct model *m;
	struct filter *f;
	struct rows *rows;
	uint32_t type;
};

struct report {
	const struct report_options *o;
	struct report_view view;
	struct top *top;
	struct scale scale;               /* of the values that are printed */
	struct term term;
};

extern const struct argp report_argp;

/* cmd/report/report-opts.c: ends the program as argp does on wrong usage. */
void report_opts_parse(struct report_options *o, int argc, char **argv);

/* Printers: 0, or -errno with e set. */
int report_table_print(const struct report *r, struct err *e);
int report_tree_print(const struct report *r, struct err *e);
int report_folded_print(const struct report *r, struct err *e);
int report_list_print(const struct report *r, struct err *e);
int report_disasm_print(const struct report *r, struct err *e);

/* Compares with o->diff_base; *ret_failed: a condition of --fail-if held. */
int report_diff_print(const struct report *r, const struct report_view *base, struct err *e,
		      bool *ret_failed);

/* Writes o->html and o->svg. */
int report_html_write(const struct report_options *o, struct err *e);

/* A source file as a profile names it: there, or below the current folder; NULL: none. */
FILE *report_source_open(const char *path);

/* Says on stderr which rules matched nothing. */
void report_filter_warn(const struct filter *f);

/* The lines above a table; what: "functions". */
void report_head_print(const struct report *r, uint32_t n_shown, uint32_t n_rows,
		       const char *what);
const char *report_rows_word(const struct report_options *o, bool plural);

/* The unit for all values of a table: --unit, or what suits its smallest and largest. */
int report_scale_choose(const struct report_options *o, const struct model *m, uint32_t type,
			int64_t min, int64_t max, struct scale *ret, struct err *e);

/* A field of CSV (RFC 4180), quoted where it must be. */
void report_csv_text(FILE *to, const char *text);

#endif
