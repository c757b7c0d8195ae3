#include "labels/gopieces.h"

#include "symbolize/runtime/runtime-memory.h"

#include <stdlib.h>

/* Pieces that cannot be read, before the rest is left out. */
#define FAULTS_MAX 16u

struct gopieces_room {
	struct iovec local[GOPIECES_MAX], remote[GOPIECES_MAX];
	bool is_read[GOPIECES_MAX];
	uint8_t bytes[GOPIECES_BYTES_MAX];
};

void gopieces_done(struct gopieces *p)
{
	free(p->room);
	*p = (struct gopieces){ .n = 0 };
}

void gopieces_start(struct gopieces *p)
{
	p->n = p->n_bytes = 0;
}

uint32_t gopieces_add(struct gopieces *p, uint64_t at, size_t n_bytes)
{
	if (!p->room && !(p->room = malloc(sizeof(*p->room))))
		return GOPIECES_NONE;
	if (p->n == GOPIECES_MAX || n_bytes > GOPIECES_BYTES_MAX - p->n_bytes)
		return GOPIECES_NONE;
	p->room->local[p->n] = (struct iovec){ p->room->bytes + p->n_bytes, n_bytes };
	p->room->remote[p->n] = (struct iovec){ (void *)(uintptr_t)at, n_bytes };
	p->room->is_read[p->n] = false;
	p->n_bytes += (uint32_t)n_bytes;
	return p->n++;
}

void gopieces_read(struct gopieces *p, const struct runtime_memory *m)
{
	for (uint32_t i = 0, n_faults = 0; i < p->n && n_faults < FAULTS_MAX; n_faults++, i++) {
		long got = m->read(m->ctx, p->room->local + i, p->n - i, p->room->remote + i,
				   p->n - i);
		for (; i < p->n && got >= (long)p->room->local[i].iov_len; i++) {
			got -= (long)p->room->local[i].iov_len;
			p->room->is_read[i] = true;
		}
	}
}

const uint8_t *gopieces_get(const struct gopieces *p, uint32_t i)
{
	return i < p->n && p->room->is_read[i] ? p->room->local[i].iov_base : NULL;
}
