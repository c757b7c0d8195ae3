#ifndef CPROF_VIEW_HTML_HTML_CODE_H
#define CPROF_VIEW_HTML_HTML_CODE_H

/* Instructions of functions, which the page shows beside their source. */

#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>

struct html_code_line {
	uint64_t vaddr;
	char *text;                 /* owned */
	int64_t flat, cum;          /* of the whole profile, in the set's type */
	int64_t line;               /* of the source; 0: unknown */
};

struct html_code_function {
	const char *name, *module;  /* as in the model; borrowed */
	size_t first, n;            /* in lines, ascending; others may be missing between them */
};

struct html_code {
	VEC(struct html_code_function) functions;
	VEC(struct html_code_line) lines;
};

void html_code_done(struct html_code *c);

#endif
