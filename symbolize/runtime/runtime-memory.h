#ifndef CPROF_SYMBOLIZE_RUNTIME_RUNTIME_MEMORY_H
#define CPROF_SYMBOLIZE_RUNTIME_RUNTIME_MEMORY_H

/* The memory of a program that goes on running, as the readers of its runtime see it. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct runtime_memory {
	/* As process_vm_readv(2): bytes read, or -errno. */
	long (*read)(void *ctx, const struct iovec *local, size_t n_local,
		     const struct iovec *remote, size_t n_remote);
	void *ctx;
};

/* False: not all n_bytes at that address could be read. */
static inline bool runtime_memory_read(const struct runtime_memory *m, uint64_t at, void *buf,
				       size_t n_bytes)
{
	const struct iovec local = { buf, n_bytes };
	const struct iovec remote = { (void *)(uintptr_t)at, n_bytes };
	return m->read(m->ctx, &local, 1, &remote, 1) == (long)n_bytes;
}

#endif
