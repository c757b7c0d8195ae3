/* What a profile says about its recording: its comments (cprof-profile(7)). */

#include "cmd/report/report.h"

#include "base/cleanup.h"
#include "cmd/printable.h"

#include <stdlib.h>
#include <string.h>

/* As many are named in one line. */
#define MISSING_MAX 2

/* The part of a comment that says what the profile lacks; NULL: it says something else. */
static const char *missing_part(const char *comment)
{
	static const char *const begin[] = {
		"losses: ", "waits of threads: ", "not in the profile: ", "names:",
		"user code only", "kernel functions without names",
	};
	for (size_t i = 0; i < sizeof(begin) / sizeof(*begin); i++) {
		size_t n = strlen(begin[i]);
		if (strncmp(comment, begin[i], n) == 0)
			return begin[i][n - 1] == ' ' ? comment + n : comment;
	}
	return NULL;
}

const char *report_info_comment(const struct model *m, const char *begin)
{
	for (uint32_t i = 0; i < m->n_comments; i++) {
		const char *comment = model_string(m, m->comment[i]);
		if (strncmp(comment, begin, strlen(begin)) == 0)
			return comment + strlen(begin);
	}
	return NULL;
}

/* Commands may have several lines. */
static void print_comment(const struct term *term, const char *comment)
{
	CLEANUP_FREE char *text = malloc(2 * strlen(comment) + 1);
	char *to = text;
	for (const char *from = comment; text && *from; from++) {
		bool is_line = *from == '\n';
		if (is_line)
			*to++ = '\\';
		*to++ = is_line ? 'n' : *from;
	}
	if (text)
		*to = '\0';
	term_print_name(term, text ? text : comment, 0);
}

void report_info_missing(const struct report *r)
{
	const struct model *m = r->view.m;
	FILE *out = r->term.out;
	unsigned n = 0;
	/* the time that is missing says more than that some is */
	bool has_time = report_info_comment(m, "not in the profile: ");
	for (uint32_t i = 0; i < m->n_comments; i++) {
		const char *comment = model_string(m, m->comment[i]), *part = missing_part(comment);
		if (!part || (has_time && strncmp(comment, "user code only", 14) == 0))
			continue;
		if (n++ >= MISSING_MAX)
			continue;
		fputs(n == 1 ? "Missing: " : "; ", out);
		term_print_name(&r->term, part, 0);
	}
	if (n > MISSING_MAX)
		fprintf(out, "; %u more", n - MISSING_MAX);
	if (n)
		fputs(" (--info)\n", out);
}

void report_info_json(const struct report *r)
{
	const struct model *m = r->view.m;
	FILE *out = r->term.out;
	fputs("\"comments\": [", out);
	for (uint32_t i = 0; i < m->n_comments; i++) {
		fputs(i ? ", " : "", out);
		printable_json(out, model_string(m, m->comment[i]));
	}
	fputs("]", out);
}

int report_info_print(const struct report *r)
{
	const struct model *m = r->view.m;
	report_head_print(r, 0, 0);
	for (uint32_t i = 0; i < m->n_comments; i++) {
		fputs(i ? "" : "\n", r->term.out);
		print_comment(&r->term, model_string(m, m->comment[i]));
		fputc('\n', r->term.out);
	}
	return 0;
}
