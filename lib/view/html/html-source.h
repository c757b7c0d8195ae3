#ifndef CPROF_VIEW_HTML_HTML_SOURCE_H
#define CPROF_VIEW_HTML_HTML_SOURCE_H

/*
 * Lines of source files around those that a profile names, for the page.  Names come from the
 * profile, and the page is made to be given away: so only files that are called like source
 * files are read, only lines near named ones are taken, and 2 MiB of them at most.
 */

#include "base/strtab.h"
#include "base/vec.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct html_source_line { uint64_t number; uint32_t text; };
struct html_source_file { uint32_t file; size_t first, n; };   /* in lines */

struct html_source {
	VEC(struct html_source_line) wanted;    /* text: the file's string id, until read */
	VEC(struct html_source_file) files;
	VEC(struct html_source_line) lines;     /* text: string id */
	size_t n_bytes;
};

/* A line that some frame names; false: no memory. */
bool html_source_want(struct html_source *s, uint32_t file, uint64_t line);

/* Fills files and lines; text is added to strings.  What cannot be opened is left out; false: no
 * memory. */
bool html_source_read(struct html_source *s, struct strtab *strings,
		      FILE *(*open_source)(void *ctx, const char *path), void *ctx);
void html_source_done(struct html_source *s);

#endif
