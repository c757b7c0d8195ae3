#ifndef CPROF_TESTS_FLATMEMORY_H
#define CPROF_TESTS_FLATMEMORY_H

/* Bytes as the memory of a process, for runtimes that read it. */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

struct flatmemory {
	const uint8_t *bytes;
	size_t n_bytes;
	uint64_t base;                  /* the address of the first one */
	bool is_again;                  /* they appear again and again at all higher addresses */
};

/* to may be NULL.  False: it is not all there. */
static inline bool flatmemory_copy(const struct flatmemory *m, uint64_t at, char *to, size_t n)
{
	uint64_t off = at - m->base;
	if (at < m->base || at + n < at || (!m->is_again && (off > m->n_bytes ||
							     n > m->n_bytes - off)))
		return false;
	while (n && to) {
		size_t start = off % m->n_bytes, k = m->n_bytes - start;
		k = k < n ? k : n;
		memcpy(to, m->bytes + start, k);
		to += k;
		off += k;
		n -= k;
	}
	return true;
}

/* As process_vm_readv(2): the bytes of all ranges one after the other, up to the first range that
 * is not all there. */
static inline long flatmemory_read(const struct flatmemory *m, const struct iovec *local,
				   size_t n_local, const struct iovec *remote, size_t n_remote)
{
	size_t to = 0, used = 0;        /* of local: which one, and how much of it */
	long done = 0;
	for (size_t i = 0; i < n_remote; i++) {
		uint64_t at = (uintptr_t)remote[i].iov_base;
		if (!flatmemory_copy(m, at, NULL, remote[i].iov_len))
			return done ? done : -EFAULT;
		for (size_t left = remote[i].iov_len, n; left && to < n_local; left -= n) {
			n = local[to].iov_len - used;
			n = n < left ? n : left;
			flatmemory_copy(m, at, (char *)local[to].iov_base + used, n);
			at += n;
			done += (long)n;
			used += n;
			if (used == local[to].iov_len) {
				to++;
				used = 0;
			}
		}
	}
	return done;
}

#endif
