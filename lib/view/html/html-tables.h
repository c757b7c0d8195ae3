#ifndef CPROF_VIEW_HTML_HTML_TABLES_H
#define CPROF_VIEW_HTML_HTML_TABLES_H

/*
 * What all profiles of a page share: strings, frames, labels and sets of labels, each once.
 * Numbers count from 0 in the order of the first use.  Without memory, failed is set and the
 * numbers that are returned mean nothing.
 */

#include "base/hashindex.h"
#include "base/strtab.h"
#include "base/vec.h"

/* name, file and module are strings; flags: HTML_FRAME_... of html-data.h. */
struct html_frame { int64_t line; uint32_t name, file, module, flags; };
struct html_label { uint32_t key, value; };       /* strings */
struct html_label_set { uint32_t first, n; };     /* in items */

struct html_tables {
	bool failed;
	struct strtab strings;
	VEC(struct html_frame) frames;
	VEC(struct html_label) labels;
	VEC(struct html_label_set) sets;
	VEC(uint32_t) items;                      /* numbers of labels */
	struct hashindex by_frame, by_label, by_set;
};

uint32_t html_string(struct html_tables *t, const char *s);
uint32_t html_add_frame(struct html_tables *t, struct html_frame f);
uint32_t html_add_label(struct html_tables *t, struct html_label l);
/* The set of the items that were appended from first on, which it takes. */
uint32_t html_add_set(struct html_tables *t, size_t first);

/* Tables that are zero but for their strings (strtab_init) are empty. */
void html_tables_done(struct html_tables *t);

#endif
