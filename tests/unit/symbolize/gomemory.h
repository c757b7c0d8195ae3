#ifndef CPROF_TESTS_GOMEMORY_H
#define CPROF_TESTS_GOMEMORY_H

/* The memory of a Go program made of two regions, and what tests write to it. */

#include "symbolize/runtime/runtime-memory.h"

#include <errno.h>
#include <string.h>

#define GOMEMORY_DATA 0x700000u         /* variables */
#define GOMEMORY_DATA_BYTES 0x2000u
#define GOMEMORY_HEAP 0xc000000000u
#define GOMEMORY_HEAP_BYTES 0x20000u

struct gomemory {
	uint8_t data[GOMEMORY_DATA_BYTES], heap[GOMEMORY_HEAP_BYTES];
	const void *info;               /* at GOCODE_BUILDINFO, in tests that have it */
	size_t n_info;
	uint64_t info_at;
	bool is_gone;                   /* nothing can be read */
};

/* The bytes at an address, and how many follow; NULL: it is not mapped. */
static inline uint8_t *gomemory_at(struct gomemory *m, uint64_t at, size_t *ret_n)
{
	if (at - GOMEMORY_DATA < GOMEMORY_DATA_BYTES) {
		*ret_n = GOMEMORY_DATA_BYTES - (at - GOMEMORY_DATA);
		return m->data + (at - GOMEMORY_DATA);
	}
	if (at - GOMEMORY_HEAP < GOMEMORY_HEAP_BYTES) {
		*ret_n = GOMEMORY_HEAP_BYTES - (at - GOMEMORY_HEAP);
		return m->heap + (at - GOMEMORY_HEAP);
	}
	if (m->info && at - m->info_at < m->n_info) {
		*ret_n = m->n_info - (at - m->info_at);
		return (uint8_t *)m->info + (at - m->info_at);
	}
	return NULL;
}

/* As process_vm_readv(2), for local pieces that match the remote ones. */
static inline long gomemory_read(void *ctx, const struct iovec *local, size_t n_local,
				 const struct iovec *remote, size_t n_remote)
{
	struct gomemory *m = ctx;
	long done = 0;
	for (size_t i = 0; i < n_remote && i < n_local && !m->is_gone; i++) {
		size_t n = 0, n_want = remote[i].iov_len;
		const uint8_t *p = gomemory_at(m, (uintptr_t)remote[i].iov_base, &n);
		n = n < n_want ? n : n_want;
		if (p)
			memcpy(local[i].iov_base, p, n);
		done += p ? (long)n : 0;
		if (!p || n < n_want)
			break;
	}
	return done ? done : m->is_gone ? -ESRCH : -EFAULT;
}

static inline void gomemory_put(struct gomemory *m, uint64_t at, const void *p, size_t n_bytes)
{
	size_t n = 0;
	uint8_t *to = gomemory_at(m, at, &n);
	memcpy(to, p, n_bytes < n ? n_bytes : n);
}

static inline void gomemory_word(struct gomemory *m, uint64_t at, uint64_t x)
{
	gomemory_put(m, at, &x, sizeof(x));
}

/* A string's header at `at`, and its bytes at `bytes`. */
static inline void gomemory_string(struct gomemory *m, uint64_t at, uint64_t bytes,
				   const char *text)
{
	gomemory_word(m, at, bytes);
	gomemory_word(m, at + 8, strlen(text));
	gomemory_put(m, bytes, text, strlen(text));
}

#endif
