#ifndef CPROF_CMD_REPORT_REPORT_H
#define CPROF_CMD_REPORT_REPORT_H

/* The parts of `cprof report`: its options, the profiles it reads, and the printers. */

#include "base/vec.h"
#include "cmd/filemode.h"
#include "cmd/report/report-waits.h"
#include "cmd/term.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/model/scale.h"
#include "view/table/diff.h"
#include "view/table/rows.h"
#include "view/table/top.h"
#include "view/table/tree.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum report_format { REPORT_TEXT, REPORT_JSON, REPORT_CSV, REPORT_FOLDED };

#define REPORT_LISTS_MAX 64

struct report_options {
	const char **path;                /* the FILEs */
	char *newest;                     /* or the newest profile of this folder; freed by run */
	size_t n_paths;
	const char *sample_type, *unit;
	uint64_t limit;                   /* rows or lines; 0: all */
	bool has_limit;
	enum top_order order;
	struct rows_kind kind;            /* --by */
	enum report_format format;
	bool wants_tree, wants_disasm, wants_info;
	const char *caller, *callee, *list;
	struct filter_spec filter;
	const char *tag[REPORT_LISTS_MAX];
	const char *diff_base;
	enum diff_norm norm;
	const char *condition[REPORT_LISTS_MAX];  /* --fail-if */
	size_t n_conditions;
	bool no_pager, has_norm, has_sort;
	const char *html, *svg;           /* files to write instead of printing */
	bool no_source;
	bool wants_http, no_browser;      /* serve the page on this machine */
	uint64_t port;                    /* 0: any */
	struct filemode mode;
};

/* One profile, filtered and split into rows. */
struct report_view {
	struct model *m;
	struct filter *f;
	struct rows *rows;
	uint32_t type;
};

/* Files that profiles name: report-source.c. */
struct report_source {
	uid_t user;                       /* who owns all profiles, if n_profiles is not 0 */
	size_t n_profiles;
	VEC(char *) refused;              /* paths that were reported */
	struct safeopen_waits *waits;     /* NULL before the first file is opened */
};

struct report {
	const struct report_options *o;
	struct report_source *source;
	struct report_view view;
	struct top *top;
	struct report_waits waits;
	struct scale scale;               /* of the printed values */
	struct term term;
};

extern const struct argp report_argp;

/* report-opts.c: exits as argp does on wrong usage. */
void report_opts_parse(struct report_options *o, int argc, char **argv);

/* report-newest.c: the name of the newest profile (*.pb.gz, *.pb) in a folder.  NULL: none.  The
 * caller frees it. */
char *report_newest(const char *folder);

/* report-view.c.  Close a view even if opening it has failed. */
int report_view_open(struct report_view *v, const struct report_options *o,
		     const char *const *path, size_t n_paths, struct err *e);
void report_view_close(struct report_view *v);
/* The unit for all values of a table: --unit, or one that suits the smallest and the largest. */
int report_view_scale(const struct report_view *v, const struct report_options *o, int64_t min,
		      int64_t max, struct scale *ret, struct err *e);
/* Prints to stderr which rules matched nothing. */
void report_view_warn(const struct filter *f);

/* report-head.c: the lines above a table of n_shown of n_rows rows. */
void report_head_print(const struct report *r, uint32_t n_shown, uint32_t n_rows);
/* The title of the column of names. */
const char *report_head_name(const struct report_options *o);
/* The number of rows to show of n_rows. */
uint32_t report_head_limit(const struct report_options *o, uint32_t n_rows);

/* report-info.c: one line about what the profile lacks, if it says so; its comments as a member of
 * a JSON object; and the view that --info shows. */
void report_info_missing(const struct report *r);
void report_info_json(const struct report *r);
int report_info_print(const struct report *r);
/* The rest of the comment that begins so, or NULL. */
const char *report_info_comment(const struct model *m, const char *begin);

/* Printers: 0, or -errno with e set. */
int report_table_print(const struct report *r, struct err *e);
int report_tree_print(const struct report *r, struct err *e);
int report_folded_print(const struct report *r, struct err *e);
int report_list_print(const struct report *r, struct err *e);
int report_disasm_print(const struct report *r, struct err *e);

/* Compares with o->diff_base; *ret_failed: a condition of --fail-if holds. */
int report_diff_print(const struct report *r, const struct report_view *base, struct err *e,
		      bool *ret_failed);

/* Writes o->html and o->svg, or serves the page. */
int report_html_write(const struct report_options *o, struct err *e);

/* Notes whose profiles are shown. */
void report_source_add(struct report_source *s, const char *const *path, size_t n_paths);
void report_source_done(struct report_source *s);

/* Opens a source file by its name in a profile: at that path, or below the current folder.  NULL:
 * not found, or not to be shown, which is reported once for each path. */
FILE *report_source_open(struct report_source *s, const char *path);

/* Opens a program by the same rules.  -errno with e set. */
int report_source_open_program(struct report_source *s, const char *path, struct err *e);

/* Prints a field of CSV (RFC 4180), quoted if necessary. */
void report_csv_text(FILE *to, const char *text);

#endif
