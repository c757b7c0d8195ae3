#ifndef CPROF_VIEW_HTML_SVG_H
#define CPROF_VIEW_HTML_SVG_H

/*
 * A static flame graph: one SVG file without scripts.  Frames have tooltips with their values;
 * frames too narrow to see are left out.
 */

#include "view/model/scale.h"
#include "view/table/tree.h"

#include <stddef.h>

struct err;

struct svg_spec {
	const struct tree *tree;
	const char *title, *subtitle;  /* may contain any bytes */
	struct scale scale;            /* for values in texts */
	/* For a comparison, frames are coloured by their change; otherwise base is NULL.  The
	 * factors make values comparable. */
	const struct tree *base;
	double factor, base_factor;
};

typedef int (*svg_write_fn)(void *ctx, const void *data, size_t n_bytes);

/* -ENOMEM with e set, or an error of `write`. */
int svg_write(const struct svg_spec *spec, svg_write_fn write, void *ctx, struct err *e);

#endif
