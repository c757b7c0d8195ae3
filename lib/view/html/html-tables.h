#ifndef CPROF_VIEW_HTML_HTML_TABLES_H
#define CPROF_VIEW_HTML_HTML_TABLES_H

/*
 * The strings, frames, labels and label sets that all profiles of a page share, each stored once.
 * They are numbered from 0 in the order of first use.  If out of memory, `failed` is set and the
 * returned numbers are meaningless.
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
	VEC(uint32_t) items;                      /* label numbers */
	struct hashindex by_frame, by_label, by_set;
};

uint32_t html_string(struct html_tables *t, const char *s);
uint32_t html_add_frame(struct html_tables *t, struct html_frame f);
uint32_t html_add_label(struct html_tables *t, struct html_label l);
/* Makes a set of the items from `first` on. */
uint32_t html_add_set(struct html_tables *t, size_t first);

/* All zeros, with initialised strings (strtab_init), is empty. */
void html_tables_done(struct html_tables *t);

#endif
