#include "recorder/kinds/allocblocks.h"

#include "engine/engine-allocs.h"
#include "recorder/kinds/kind-alloc.h"
#include "source/record.h"

#include <stdio.h>
#include <string.h>

/* A size class: at most 12.5 % smaller than the size, so that there are few labels. */
static uint64_t size_class(uint64_t n_bytes)
{
	unsigned bits = n_bytes ? 63 - (unsigned)__builtin_clzll(n_bytes) : 0;
	return bits > 3 ? n_bytes >> (bits - 3) << (bits - 3) : n_bytes;
}

void allocblocks_add(struct kind_alloc *a, struct engine *g, const struct record *r,
		     const struct allocblocks_block *b)
{
	char class[24];
	snprintf(class, sizeof(class), "%llu", (unsigned long long)size_class(b->n_bytes));
	const struct engine_label label = { "bytes", class };
	struct record sample = *r;
	sample.event = 0;
	struct allocs_block kept = { .pid = r->pid, .addr = b->addr, .n = b->n, .value = b->value,
				     .time_ns = r->time_ns };
	if (!a->peak_began && r->time_ns >= g->window.start_ns) {
		a->peak_began = true;
		allocs_restart_peak(&g->allocs);
	}
	bool is_inside = r->time_ns >= g->window.start_ns && r->time_ns <= g->window.end_ns &&
			 !pausegaps_contain(&g->window.gaps, r->time_ns);
	if (!is_inside && !a->is_heap)
		return;
	const struct engine_values values = { .n = is_inside, .value = is_inside ? b->value : 0,
					      .label = &label, .n_labels = 1 };
	if (!engine_place_sample(g, &sample, &values, &kept.stack, &kept.labels))
		return;
	if (is_inside)
		engine_count(g, 0, kept.stack, kept.labels, b->n, b->value);
	kept.is_older = !is_inside && g->allocs.is_delta;
	if (a->is_heap && b->is_tracked)
		allocs_add(&g->allocs, &kept);
}

void allocblocks_remove(struct kind_alloc *a, struct engine *g, const struct record *r,
			uint64_t addr)
{
	struct allocs_block was;
	if (!allocs_remove(&g->allocs, r->pid, addr, &was))
		return;
	a->limbo[a->next_limbo++ % KIND_ALLOC_LIMBO] = (struct kind_alloc_limbo){
		r->tid, g->gc.tables.n_runs, was,
	};
}

/* The last one that the thread has freed at this address. */
static void restore_block(struct kind_alloc *a, struct engine *g, const struct record *r)
{
	for (unsigned i = 1; i <= KIND_ALLOC_LIMBO; i++) {
		struct kind_alloc_limbo *l = &a->limbo[(a->next_limbo - i) % KIND_ALLOC_LIMBO];
		if (l->tid != r->tid || l->block.pid != r->pid ||
		    l->block.addr != r->sample.addr || l->n_runs != g->gc.tables.n_runs)
			continue;
		allocs_add(&g->allocs, &l->block);
		l->tid = 0;
		return;
	}
}

static void add_of_ring(struct kind_alloc *a, struct engine *g, const struct record *r)
{
	uint64_t n_bytes = r->sample.period;
	const struct allocformat_tail tail = {
		.mean = r->sample.weight,
		.passed_bytes = r->sample.data_src, .last_bytes = r->sample.transaction,
	};
	if (!n_bytes || n_bytes > ALLOCBLOCKS_BYTES_MAX || tail.mean > ALLOCBLOCKS_BYTES_MAX)
		return;
	double n_blocks = alloctotal_blocks(&a->total, n_bytes, &tail);
	allocblocks_add(a, g, r, &(struct allocblocks_block){
		.addr = r->sample.addr, .n_bytes = n_bytes,
		.n = (uint64_t)(ALLOCS_PARTS * n_blocks + 0.5),
		.value = (uint64_t)((double)n_bytes * n_blocks + 0.5),
		.is_tracked = r->id == ALLOCFORMAT_ALLOC,
	});
}

void allocblocks_take(struct kind_alloc *a, struct engine *g, const struct record *r)
{
	a->n_taken++;
	switch (r->id) {
	case ALLOCFORMAT_ALLOC:
	case ALLOCFORMAT_UNTRACKED:
		add_of_ring(a, g, r);
		break;
	case ALLOCFORMAT_FREE:
		allocblocks_remove(a, g, r, r->sample.addr);
		break;
	case ALLOCFORMAT_RESTORE:
		restore_block(a, g, r);
		break;
	}
}
