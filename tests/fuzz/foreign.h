#ifndef CPROF_TESTS_FUZZ_FOREIGN_H
#define CPROF_TESTS_FUZZ_FOREIGN_H

/* Converts text of another tool to a profile, and that to every format. */

#include "base/err.h"
#include "view/convert/format.h"
#include "view/model/model.h"

#include <assert.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

static int drop(void *ctx, const void *bytes, size_t n_bytes)
{
	*(size_t *)ctx += n_bytes;
	(void)bytes;
	return 0;
}

static int convert_foreign(int (*read)(const char *text, size_t n_bytes, struct model **ret,
				       struct err *e),
			   const uint8_t *data, size_t size)
{
	struct model *m = NULL;
	struct err e = { 0 };
	size_t n = 0;
	uint64_t n_left_out = 0;
	int r = read((const char *)data, size, &m, &e);
	if (r < 0) {
		assert((r == -EINVAL || r == -E2BIG) && e.what[0]);
		return 0;
	}
	struct emit *o = malloc(sizeof(*o));
	const struct format *f;
	for (size_t i = 0; o && (f = format_at(FORMAT_OUTPUT, i)); i++) {
		if (f->is_pprof)
			continue;
		emit_open(o, drop, &n);
		r = f->write(m, m->n_types - 1, o, &n_left_out, &e);
		assert(r == 0 && emit_finish(o, &e) == 0);
	}
	r = model_write(m, drop, &n, 1, &e);
	assert(r == 0 && n > 0);
	free(o);
	model_free(m);
	return 0;
}

#endif
