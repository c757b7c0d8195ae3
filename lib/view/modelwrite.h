#ifndef CPROF_VIEW_MODELWRITE_H
#define CPROF_VIEW_MODELWRITE_H

/* A model as a gzipped pprof file: all of it, or some of its samples with what they need. */

#include "proto/pprof.h"
#include "view/model.h"

#include <stdbool.h>
#include <stddef.h>

struct err;

struct modelwrite_options {
	const bool *sample_out;        /* by sample: left out; NULL: none is */
	const char *const *comment;    /* in the place of the model's own; with n_comments 0 none */
	size_t n_comments;
	int level;                     /* zlib's, 0..9 */
};

/* -ENOMEM, or what write returned, with e set. */
int modelwrite_pprof(const struct model *m, const struct modelwrite_options *o,
		     pprof_write_fn *write, void *ctx, struct err *e);

#endif
