#ifndef CPROF_BASE_MEMBUF_H
#define CPROF_BASE_MEMBUF_H

/* A file in memory, for functions that take a writer.  All zeros is an empty one; free it with
 * VEC_FREE(&b.bytes). */

#include "base/vec.h"

#include <errno.h>
#include <string.h>

struct membuf { VEC(char) bytes; };

/* Appends; a writer of profiles whose ctx is a struct membuf.  0 or -ENOMEM. */
static inline int membuf_write(void *ctx, const void *data, size_t n_bytes)
{
	struct membuf *b = ctx;
	if (!VEC_RESERVE(&b->bytes, n_bytes))
		return -ENOMEM;
	if (n_bytes > 0)
		memcpy(b->bytes.v + b->bytes.n, data, n_bytes);
	b->bytes.n += n_bytes;
	return 0;
}

#endif
