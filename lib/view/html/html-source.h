#ifndef CPROF_VIEW_HTML_HTML_SOURCE_H
#define CPROF_VIEW_HTML_HTML_SOURCE_H

/*
 * Source lines for the page, around the lines that a profile names.  File names come from the
 * profile, and pages are meant to be shared.  So we read only files with the suffix of a source
 * file, and take only lines near those that are named, at most 2 MiB.
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

/* Does the path end like that of a source file? */
bool html_source_is_name(const char *path);

/* Requests a line that a frame names.  False: out of memory. */
bool html_source_want(struct html_source *s, uint32_t file, uint64_t line);

/* Fills files and lines and adds the text to strings.  Ignores files that cannot be opened.  False:
 * out of memory. */
bool html_source_read(struct html_source *s, struct strtab *strings,
		      FILE *(*open_source)(void *ctx, const char *path), void *ctx);
void html_source_done(struct html_source *s);

#endif
