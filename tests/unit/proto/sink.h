#ifndef CPROF_TESTS_UNIT_PROTO_SINK_H
#define CPROF_TESTS_UNIT_PROTO_SINK_H

/* A pprof_write_fn that keeps its input, or fails after some bytes. */

#include "base/vec.h"

#include <errno.h>

struct sink {
	VEC(unsigned char) bytes;
	size_t fail_after;  /* 0: never fails */
};

static inline int __attribute__((unused)) sink_write(void *ctx, const void *data, size_t n_bytes)
{
	struct sink *s = ctx;
	if (s->fail_after && s->bytes.n + n_bytes > s->fail_after)
		return -ENOSPC;
	if (!VEC_RESERVE(&s->bytes, n_bytes))
		return -ENOMEM;
	memcpy(s->bytes.v + s->bytes.n, data, n_bytes);
	s->bytes.n += n_bytes;
	return 0;
}

#endif
