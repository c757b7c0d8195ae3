#ifndef CPROF_VIEW_HTML_SVG_H
#define CPROF_VIEW_HTML_SVG_H

/*
 * A still flame graph: one SVG file without scripts, whose frames tell their numbers when they
 * are pointed at.  Frames too narrow to be seen are left out.
 */

#include "view/model/scale.h"
#include "view/table/tree.h"

#include <stddef.h>

struct err;

struct svg_spec {
	const struct tree *tree;
	const char *title, *subtitle;  /* any bytes */
	struct scale scale;            /* of values in the text */
	/* A comparison: frames are coloured by their change; base is NULL without one.  Values
	 * times the factors are comparable. */
	const struct tree *base;
	double factor, base_factor;
};

typedef int (*svg_write_fn)(void *ctx, const void *data, size_t n_bytes);

/* -ENOMEM with e set, or what write returned. */
int svg_write(const struct svg_spec *spec, svg_write_fn write, void *ctx, struct err *e);

#endif
