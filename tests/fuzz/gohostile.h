#ifndef CPROF_TESTS_GOHOSTILE_H
#define CPROF_TESTS_GOHOSTILE_H

/* The memory of a hostile Go program: the input, again and again from an address on, so that many
 * pointers lead into it.  After a while the program is gone. */

#include "symbolize/runtime/go-layout.h"
#include "symbolize/runtime/runtime-memory.h"

#include <errno.h>
#include <string.h>

#define GOHOSTILE_BASE 0x1000u
#define GOHOSTILE_READ_BYTES_MAX (256u << 10)

struct gohostile {
	const uint8_t *data;
	size_t size, n_read;
	uint64_t base;                  /* nothing below it can be read */
};

/* For pieces of the same sizes on both sides. */
static inline long gohostile_read(void *ctx, const struct iovec *local, size_t n_local,
				  const struct iovec *remote, size_t n_remote)
{
	struct gohostile *m = ctx;
	long done = 0;
	if (m->n_read > GOHOSTILE_READ_BYTES_MAX)
		return -ESRCH;
	for (size_t i = 0; i < n_remote && i < n_local; i++) {
		uint64_t at = (uintptr_t)remote[i].iov_base;
		size_t n = remote[i].iov_len < local[i].iov_len ? remote[i].iov_len :
								  local[i].iov_len;
		if (at < m->base)
			return done ? done : -EFAULT;
		for (size_t off = 0; off < n;) {
			size_t from = (at + off - m->base) % m->size;
			size_t k = m->size - from < n - off ? m->size - from : n - off;
			memcpy((char *)local[i].iov_base + off, m->data + from, k);
			off += k;
		}
		done += (long)n;
		m->n_read += n;
	}
	return done;
}

/* A byte of the input chooses the program's layout, and the rest is its memory, from
 * GOHOSTILE_BASE on.  NULL: the input is too short. */
static inline const struct go_layout *gohostile_open(const uint8_t *data, size_t size,
						     struct gohostile *ret)
{
	if (size < 9)
		return NULL;
	const struct go_layout *l = go_layout_known(data[0] % 8u);
	*ret = (struct gohostile){ .data = data + 1, .size = size - 1,
				   .base = GOHOSTILE_BASE };
	return l ? l : go_layout_known(0);
}

#endif
