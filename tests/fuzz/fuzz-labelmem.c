/* Label memory of a hostile process: reading ends, whatever its contents. */

#define CPROF_LABELS_FORMAT_ONLY
#include "labels/labelmem.h"

#include "cprof-labels.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define REGISTRY 0x1000u

#define READ_BYTES_MAX (512u << 10)  /* then the process is gone */

struct memory {
	const uint8_t *data;
	size_t size, n_read;
};

/* The input is at REGISTRY and repeats after its end, so pointers into it are likely.  Addresses
 * below cannot be read, and some reads are short. */
static long read_memory(void *ctx, uint32_t pid, const struct iovec *local, size_t n_local,
			const struct iovec *remote, size_t n_remote)
{
	struct memory *m = ctx;
	(void)pid;
	size_t l = 0, off = 0;
	long done = 0;
	if (m->n_read > READ_BYTES_MAX)
		return -ESRCH;
	for (size_t r = 0; r < n_remote; r++) {
		uint64_t at = (uintptr_t)remote[r].iov_base;
		for (size_t left = remote[r].iov_len; left > 0;) {
			while (l < n_local && off == local[l].iov_len) {
				l++;
				off = 0;
			}
			if (l == n_local)
				return done;
			if (at < REGISTRY)
				return done ? done : -EFAULT;
			size_t from = (at - REGISTRY) % m->size, n = m->size - from;
			n = n < left ? n : left;
			n = n < local[l].iov_len - off ? n : local[l].iov_len - off;
			memcpy((uint8_t *)local[l].iov_base + off, m->data + from, n);
			off += n;
			at += n;
			left -= n;
			done += (long)n;
			m->n_read += n;
		}
	}
	return done;
}

struct told {
	uint64_t n;
	uint32_t set;
};

static void on_change(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t time_ns, uint32_t set)
{
	struct told *t = ctx;
	(void)own_pid;
	(void)time_ns;
	if (tid == 0)
		abort();
	t->n++;
	t->set = set;
}

static void on_gap(void *ctx, uint32_t own_pid, uint32_t tid, uint64_t n_changes)
{
	(void)ctx;
	(void)own_pid;
	(void)tid;
	if (n_changes == 0)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 16)
		return 0;
	struct memory memory = { data, size, 0 };
	struct labelmem m;
	labelmem_init(&m, NULL, 1, REGISTRY);
	m.read = read_memory;
	m.read_ctx = &memory;
	struct labelmem_clock clock = { .counter_is_clock = true, .n = 2 };
	memcpy(clock.pair, data, 16);
	clock.pair[1].ticks = clock.pair[0].ticks + 1000;
	clock.pair[1].ns = clock.pair[0].ns + 3000;
	struct told told = { 0 };
	const struct labelmem_sink sink = { .change = on_change, .gap = on_gap, .ctx = &told };
	for (int i = 0; i < 2; i++)
		labelmem_drain(&m, &clock, &sink);
	if (told.n > 2ull * CPROF_LABELS_SLABS * CPROF_LABELS_SLAB * CPROF_LABELS_RING)
		abort();
	char buf[LABELMEM_SET_BYTES_MAX];
	uint32_t n;
	for (uint32_t set = told.set; set < told.set + 4; set++) {
		int n_bytes = labelmem_set(&m, set, buf, &n);
		if (n_bytes > 0 && (buf[n_bytes - 1] != '\0' || n == 0))
			abort();
	}
	labelmem_done(&m);
	return 0;
}
