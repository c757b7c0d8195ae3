#ifndef CPROF_CMD_REPORT_REPORT_CODE_H
#define CPROF_CMD_REPORT_REPORT_CODE_H

/* Instructions for the page: of the functions with the highest cost of their own. */

#include <stdint.h>

struct html_code;
struct html_set;
struct report_source;

struct report_code {
	struct report_source *source;
	uint64_t deadline_ns;       /* CLOCK_MONOTONIC; 0: not chosen yet */
	unsigned n_functions, n_unknown, n_late;  /* with instructions; without; not looked for */
};

/* find_code of struct html_spec; ctx: a struct report_code. */
int report_code_find(void *ctx, const struct html_set *set, struct html_code *ret);

/* Says on standard error what the page lacks. */
void report_code_warn(const struct report_code *c);

#endif
