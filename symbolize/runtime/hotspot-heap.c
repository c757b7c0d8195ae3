/*
 * A heap is divided into segments, and a block of code has whole ones.  The segment map has a byte
 * for each: 0 for the first one of a block, 255 for a free one, and otherwise how many segments to
 * go back; a large block needs several such steps (heap.cpp of OpenJDK).
 */

#include "symbolize/runtime/hotspot-heap.h"

#include "symbolize/runtime/hotspot-layout.h"
#include "symbolize/runtime/runtime-memory.h"

#include <stddef.h>

#define SEGMENT_FREE 255u
#define WINDOW_BYTES 1024u
#define STEPS_MAX 512u                  /* of up to 254 segments: 16 MB of code */
#define LOG2_MIN 4u
#define LOG2_MAX 12u
#define BLOCK_BYTES_MAX 64u

static uint64_t word_at(const struct runtime_memory *m, uint64_t at)
{
	uint64_t word;
	return runtime_memory_read(m, at, &word, sizeof(word)) ? word : 0;
}

static uint32_t number_at(const struct runtime_memory *m, uint64_t at)
{
	uint32_t number;
	return runtime_memory_read(m, at, &number, sizeof(number)) ? number : 0;
}

/* Addresses of the heaps; returns their number. */
static unsigned int list_heaps(const struct hotspot_layout *l, const struct runtime_memory *m,
			       uint64_t at[HOTSPOT_HEAPS_MAX])
{
	if (!l->heaps) {
		at[0] = word_at(m, l->heap);
		return at[0] != 0;
	}
	uint64_t array = word_at(m, l->heaps);
	uint32_t n = array ? number_at(m, array + l->array_len.off) : 0;
	uint64_t data = n ? word_at(m, array + l->array_data.off) : 0;
	if (n > HOTSPOT_HEAPS_MAX || !data || !runtime_memory_read(m, data, at, n * sizeof(*at)))
		return 0;
	return n;
}

static bool read_heap(const struct hotspot_layout *l, const struct runtime_memory *m, uint64_t at,
		      struct hotspot_heap *ret)
{
	uint64_t memory = at + l->heap_memory.off, segments = at + l->heap_segments.off;
	const struct { uint64_t at; void *to; size_t n; } part[] = {
		{ memory + l->space_low.off, &ret->low, 8 },
		{ memory + l->space_high.off, &ret->high, 8 },
		{ segments + l->space_low.off, &ret->segments_low, 8 },
		{ segments + l->space_high.off, &ret->segments_high, 8 },
		{ at + l->heap_log2.off, &ret->log2, 4 },
	};
	struct iovec local[5], remote[5];
	for (size_t i = 0; i < 5; i++) {
		local[i] = (struct iovec){ part[i].to, part[i].n };
		remote[i] = (struct iovec){ (void *)(uintptr_t)part[i].at, part[i].n };
	}
	return m->read(m->ctx, local, 5, remote, 5) == 36 && ret->low < ret->high &&
	       ret->segments_low < ret->segments_high && ret->log2 >= LOG2_MIN &&
	       ret->log2 <= LOG2_MAX;
}

bool hotspot_heaps_read(const struct hotspot_layout *l, const struct runtime_memory *memory,
			struct hotspot_heaps *ret)
{
	uint64_t at[HOTSPOT_HEAPS_MAX];
	struct hotspot_heaps h = { .n = 0 };
	unsigned int n = list_heaps(l, memory, at);
	for (unsigned int i = 0; i < n; i++)
		h.n += read_heap(l, memory, at[i], &h.heap[h.n]);
	if (h.n)
		*ret = h;
	return h.n > 0;
}

const struct hotspot_heap *hotspot_heaps_find(const struct hotspot_heaps *h, uint64_t pc)
{
	for (unsigned int i = 0; i < h->n; i++)
		if (pc >= h->heap[i].low && pc < h->heap[i].high)
			return &h->heap[i];
	return NULL;
}

/* The first segment of the block that has segment s; false: it is free. */
static bool find_first(const struct runtime_memory *m, const struct hotspot_heap *h, uint64_t *s)
{
	uint8_t b[WINDOW_BYTES];
	uint64_t first = 0;             /* of the window */
	size_t n = 0;
	for (unsigned int i = 0; i < STEPS_MAX; i++) {
		if (!n || *s < first) {
			first = *s < WINDOW_BYTES - 1 ? 0 : *s - (WINDOW_BYTES - 1);
			n = (size_t)(*s - first) + 1;
			if (!runtime_memory_read(m, h->segments_low + first, b, n))
				return false;
		}
		uint8_t back = b[*s - first];
		if (back == 0)
			return true;
		if (back == SEGMENT_FREE || back > *s)
			return false;
		*s -= back;
	}
	return false;
}

uint64_t hotspot_heap_blob(const struct hotspot_layout *l, const struct runtime_memory *memory,
			   const struct hotspot_heap *h, uint64_t pc, uint64_t *ret_segment)
{
	uint8_t block[BLOCK_BYTES_MAX];
	uint64_t s = (pc - h->low) >> h->log2;
	if (s >= h->segments_high - h->segments_low || !find_first(memory, h, &s))
		return 0;
	uint64_t at = h->low + (s << h->log2);
	*ret_segment = h->segments_low + s;
	if (l->block_bytes > sizeof(block) || l->block_length.off + 8u > sizeof(block) ||
	    l->block_used.off + 8u > sizeof(block) ||
	    !runtime_memory_read(memory, at, block, l->block_bytes))
		return 0;
	uint64_t n_segments = hotspot_get(block, l->block_length);
	bool is_used = hotspot_get(block, l->block_used);
	return is_used && n_segments > (pc - at) >> h->log2 ? at + l->block_bytes : 0;
}
