#ifndef CPROF_VIEW_HTML_HTML_H
#define CPROF_VIEW_HTML_HTML_H

/*
 * Profiles as one HTML file that needs nothing else: a page (lib/view/html/page/, compiled in) and
 * the data (html-data.h), gzipped and in base64, so that no name can leave its place.  The page's
 * policy lets run nothing but its own script and load nothing at all.
 */

#include "view/table/diff.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;

/* A profile, filtered. */
struct html_part {
	const struct model *m;	/* NULL: none */
	const struct filter *f; /* may be NULL */
	const char *name;	/* of its files, for people */
};

/* What is looked at together: one profile, and perhaps what it is compared with. */
struct html_set {
	struct html_part fresh, base;
	uint32_t type; /* of fresh: shown first */
};

struct html_spec {
	const struct html_set *set; /* the first is shown first */
	size_t n_sets;
	enum rows_by by; /* what the page begins with; not ROWS_LABEL */
	enum diff_norm norm;
	/* Opens a source file for reading, NULL: not there.  No function: no source text. */
	FILE *(*open_source)(void *ctx, const char *path);
	void *open_ctx;
};

typedef int (*html_write_fn)(void *ctx, const void *data, size_t n_bytes);

/* Can base be compared with fresh: has it each of its sample types, in a unit of the
 * same family?  ret_type (n_types of fresh) gets base's types, or is NULL. */
bool html_comparable(const struct model *base, const struct model *fresh, uint32_t *ret_type);

/* -ENOMEM, or what write returned; e is set for -ENOMEM only. */
int html_write(const struct html_spec *spec, html_write_fn write, void *ctx, struct err *e);

/* The page around the data; made at build time of lib/view/html/page/. */
extern const unsigned char html_page_head[], html_page_tail[];
extern const size_t html_page_head_bytes, html_page_tail_bytes;

#endif
