#ifndef CPROF_VIEW_HTML_HTML_H
#define CPROF_VIEW_HTML_HTML_H

/*
 * Profiles as one self-contained HTML file: a page (lib/view/html/page/, compiled in) and its data
 * (html-data.h), gzipped and in base64, so that no name can break out of its context.  The page's
 * security policy allows only its own script and loads nothing.
 */

#include "view/table/diff.h"
#include "view/model/filter.h"
#include "view/model/model.h"
#include "view/table/rows.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct err;
struct html_code;

/* A profile, filtered. */
struct html_part {
	const struct model *m;	/* NULL: no profile */
	const struct filter *f; /* may be NULL */
	const char *name;	/* of its files, for display */
};

/* One profile and, optionally, the profile that it is compared with. */
struct html_set {
	struct html_part fresh, base;
	uint32_t type; /* of fresh, shown first */
};

struct html_spec {
	const struct html_set *set; /* in the order of display */
	size_t n_sets;
	enum rows_by by; /* the initial kind of rows; not ROWS_LABEL */
	enum diff_norm norm;
	uint32_t max_nodes;    /* struct html_tree */
	/* Opens a source file for reading; NULL if there is none.  Without the function, the page
	 * has no source text. */
	FILE *(*open_source)(void *ctx, const char *path);
	void *open_ctx;
	/* Finds instructions for a set; NULL: the page has none.  -ENOMEM: the page fails. */
	int (*find_code)(void *ctx, const struct html_set *set, struct html_code *ret);
	void *code_ctx;
	/* The page comes from a server and may request "alive" from it, to show that it is open. */
	bool is_served;
};

typedef int (*html_write_fn)(void *ctx, const void *data, size_t n_bytes);

/* Whether base has every sample type of fresh, in a unit of the same family.  ret_type, which
 * may be NULL, gets base's type for each of fresh's. */
bool html_comparable(const struct model *base, const struct model *fresh, uint32_t *ret_type);

/* -ENOMEM with e set, or an error of `write`. */
int html_write(const struct html_spec *spec, html_write_fn write, void *ctx, struct err *e);

/* The page before and after the data, built from lib/view/html/page/. */
extern const unsigned char html_page_head[], html_page_tail[];
extern const size_t html_page_head_bytes, html_page_tail_bytes;

#endif
