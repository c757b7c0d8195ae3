/*
 * A thread keeps its reader, which knows its stacks.  By a hash alone, two of four busy threads
 * would share a reader in most recordings; many threads are even in any case.
 */

#include "source/divide.h"

#include "base/hash.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MAX 65536u

int divide_init(struct divide *d, uint32_t n_readers)
{
	*d = (struct divide){ .n = n_readers, .load = calloc(n_readers, sizeof(*d->load)) };
	return d->load ? 0 : -ENOMEM;
}

void divide_done(struct divide *d)
{
	free(d->load);
	VEC_FREE(&d->thread);
	hashindex_done(&d->by_tid);
	*d = (struct divide){ 0 };
}

int divide_grow(struct divide *d, uint32_t n)
{
	uint32_t n_before = d->n;
	uint64_t *load = realloc(d->load, n * sizeof(*load));
	if (!load)
		return -ENOMEM;
	d->load = load;
	d->n = n;
	memset(load + n_before, 0, (n - n_before) * sizeof(*load));
	for (size_t i = 0; i < d->thread.n; i++)
		if (i % n >= n_before)
			d->thread.v[i].reader = (uint32_t)(i % n);
	return 0;
}

uint32_t divide_find(const struct divide *d, uint32_t tid)
{
	uint32_t i = HASHINDEX_FIND(&d->by_tid, hash_u64(tid), k, d->thread.v[k].tid == tid);
	return i != HASHINDEX_NONE ? d->thread.v[i].reader : DIVIDE_NONE;
}

uint32_t divide_reader(const struct divide *d, uint32_t tid)
{
	uint32_t reader = divide_find(d, tid);
	return reader != DIVIDE_NONE ? reader : tid % d->n;
}

void divide_add(struct divide *d, uint32_t tid, uint64_t n_samples)
{
	uint32_t least = divide_find(d, tid);
	if (least != DIVIDE_NONE) {
		d->load[least] += n_samples;
		return;
	}
	least = 0;
	for (uint32_t i = 1; i < d->n; i++)
		if (d->load[i] < d->load[least])
			least = i;
	if (!VEC_RESERVE(&d->thread, 1) ||
	    !hashindex_add(&d->by_tid, hash_u64(tid), (uint32_t)d->thread.n))
		return;
	d->thread.v[d->thread.n++] = (struct divide_thread){ tid, least };
	d->load[least] += n_samples;
}

void divide_note(struct divide *d, uint32_t reader, uint64_t n_samples)
{
	d->load[reader] = d->load[reader] / 2 + n_samples;
}

void divide_forget(struct divide *d)
{
	if (d->thread.n < THREADS_MAX)
		return;
	d->thread.n = 0;
	hashindex_done(&d->by_tid);
}
