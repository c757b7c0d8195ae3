#include "cmd/record/topfive.h"

#include "base/err.h"
#include "cmd/printable.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"
#include "view/model/scale.h"
#include "view/table/top.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define N_SHOWN 5

/* Quotes a name so that a shell reads it as one word. */
static void print_quoted(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./-+:=@%,";
	if (path[0] != '-' && path[strspn(path, plain)] == '\0') {
		fputs(path, stderr);
		return;
	}
	fputs(path[0] == '-' ? "./'" : "'", stderr);
	for (const char *p = path; *p; p++) {
		char one[2] = { *p, '\0' };
		if (*p == '\'')
			fputs("'\\''", stderr);
		else if ((unsigned char)*p >= 0x80)
			fputc(*p, stderr);
		else
			printable_text(stderr, one);
	}
	fputc('\'', stderr);
}

/* Explains the placeholders for functions without names (cprof-profile(7)), and how to get
 * names. */
static void explain_nameless(bool any_jit, bool any_in_file)
{
	if (any_jit)
		fputs("'[jit]' is JIT code whose names the program did not report: see JIT CODE\n"
		      "  in cprof-record(1); node, for example, needs --perf-basic-prof\n",
		      stderr);
	if (any_in_file)
		fputs("'[file]+0x...' is a function without a symbol in its file: -v reports the "
		      "package that has it\n", stderr);
}

static void print_rows(const struct top *t)
{
	char percent[SCALE_TEXT_MAX];
	bool any_jit = false, any_in_file = false;
	for (uint32_t i = 0; i < t->n_rows && i < N_SHOWN; i++) {
		if (t->row[i].flat == 0)
			break;
		const char *name = top_name(t, i)->name;
		fprintf(stderr, "  %7s  ", scale_percent(t->row[i].flat, t->total, percent));
		printable_text(stderr, name);
		fputc('\n', stderr);
		any_jit |= strncmp(name, "[jit]", 5) == 0;
		any_in_file |= name[0] == '[' && strstr(name, "]+0x");
	}
	explain_nameless(any_jit, any_in_file);
}

void topfive_print(const char *path)
{
	struct model *m = NULL;
	struct filter *f = NULL;
	struct rows *r = NULL;
	struct top *t = NULL;
	uint32_t type;
	static const struct filter_spec all;
	if (model_read_files(&path, 1, &m, NULL) == 0 && m->n_samples > 0 &&
	    model_find_type(m, NULL, &type, NULL) == 0 && filter_new(m, &all, &f, NULL) == 0 &&
	    rows_new(m, f, ROWS_FUNCTION, NULL, &r, NULL) == 0 &&
	    top_new(m, f, r, type, &t, NULL) == 0) {
		fprintf(stderr, "hottest functions:\n");
		print_rows(t);
		fprintf(stderr, "more: cprof report ");
		print_quoted(path);
		fputc('\n', stderr);
	}
	top_free(t);
	rows_free(r);
	filter_free(f);
	model_free(m);
}
