#ifndef CPROF_TESTS_UNIT_SOURCE_SIM_RING_H
#define CPROF_TESTS_UNIT_SOURCE_SIM_RING_H

/*
 * The kernel's side of a ring in memory: writes records if there is room, wrapping around the end
 * of the data, and publishes them.  It may run in another thread.
 */

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct sim_ring {
	struct perf_event_mmap_page *control;
	uint8_t *data;
	uint64_t n_data_bytes;
	uint64_t head;       /* written up to here; published by sim_ring_publish */
};

static inline void sim_ring_init(struct sim_ring *s, uint64_t n_data_bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	/* And room for a record that wraps. */
	size_t n_bytes = page + (n_data_bytes + page - 1) / page * page + (64u << 10);
	uint8_t *base = aligned_alloc(page, n_bytes);
	if (!base)
		abort();
	memset(base, 0, n_bytes);
	*s = (struct sim_ring){ .control = (void *)base, .data = base + page,
				.n_data_bytes = n_data_bytes };
}

/* Restarts at a position, as if as many bytes had passed through. */
static inline void sim_ring_start_at(struct sim_ring *s, uint64_t position)
{
	s->head = s->control->data_head = s->control->data_tail = position;
}

static inline void sim_ring_done(struct sim_ring *s)
{
	free(s->control);
}

/* Copies bytes without publishing them; false if the reader has not released enough. */
static inline bool sim_ring_write(struct sim_ring *s, const void *data, size_t n_bytes)
{
	uint64_t tail = __atomic_load_n(&s->control->data_tail, __ATOMIC_ACQUIRE);
	if (s->head + n_bytes - tail > s->n_data_bytes)
		return false;
	const uint8_t *from = data;
	for (size_t i = 0; i < n_bytes; i++)
		s->data[(s->head + i) & (s->n_data_bytes - 1)] = from[i];
	s->head += n_bytes;
	return true;
}

static inline void sim_ring_publish(struct sim_ring *s)
{
	__atomic_store_n(&s->control->data_head, s->head, __ATOMIC_RELEASE);
}

#endif
