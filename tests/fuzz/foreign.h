#ifndef CPROF_TESTS_FUZZ_FOREIGN_H
#define CPROF_TESTS_FUZZ_FOREIGN_H

/* Foreign text becomes a profile, and what came of it is written in every format. */

#include "base/err.h"
#include "view/convert/conv.h"
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
	static int (*const convert[])(const struct model *, uint32_t, struct emit *, uint64_t *,
				      struct err *) = { conv_folded, conv_speedscope, conv_chrome,
							conv_firefox };
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
	for (size_t i = 0; o && i < sizeof(convert) / sizeof(*convert); i++) {
		emit_open(o, drop, &n);
		r = convert[i](m, m->n_types - 1, o, &n_left_out, &e);
		assert(r == 0 && emit_finish(o, &e) == 0);
	}
	r = model_write(m, drop, &n, 1, &e);
	assert(r == 0 && n > 0);
	free(o);
	model_free(m);
	return 0;
}

#endif
