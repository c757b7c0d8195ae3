/* Frames and stacks that nothing refers to are freed; the others keep their meaning. */
#include "base/err.h"
#include "engine/gc-tables.h"
#include "engine/engine.h"
#include "tests/unit/tap.h"

static struct err e;
static struct engine g;

/* The stack of these addresses, root first. */
static uint32_t stack(uint64_t root, uint64_t leaf)
{
	uint32_t node = stacks_add(&g.stacks, STACKS_EMPTY,
				   frames_add(&g.frames, 0, root, true), true);
	return stacks_add(&g.stacks, node, frames_add(&g.frames, 0, leaf, true), true);
}

/* Samples of the stack with these addresses; 0 if there is no such stack. */
static uint64_t samples(const struct counts *c, uint64_t root, uint64_t leaf)
{
	uint64_t sum = 0;
	for (uint32_t i = 0; i < c->n; i++) {
		const struct stack_node *n = &g.stacks.v[c->v[i].stack];
		const struct stack_node *up = &g.stacks.v[n->parent];
		if (g.frames.v[n->frame].vaddr == leaf && g.frames.v[up->frame].vaddr == root &&
		    up->parent == STACKS_EMPTY && n->parent != STACKS_EMPTY)
			sum += c->v[i].n_samples;
	}
	return sum;
}

int main(void)
{
	struct engine_options o = { .n_events = 2, .max_memory_bytes = 64 << 20 };
	struct counts more;
	if (engine_init(&g, &o, &e) < 0 || counts_init(&more, &g.budget) < 0)
		return 1;
	tap_ok(!gc_tables_is_due(&g.gc.tables), "a small table is left alone");
	for (uint64_t i = 0; i < 6000; i++)
		stack(1000 + i % 7, 2000 + i);
	tap_ok(gc_tables_is_due(&g.gc.tables), "a large one is due");
	for (uint64_t i = 0; i < 10; i++) {
		counts_add(&g.counts, i % 2, stack(1000, 2000 + i * 7), 0, i + 1, i, true);
		counts_add(&more, 1, stack(1001, 2001 + i * 7), 0, 100 + i, i, true);
	}
	counts_add(&g.counts, 0, stack(1002, 2002), 0, 5, 5, true);
	counts_take(&g.counts, 0, stack(1002, 2002), 0, 5, 5);
	uint32_t lost = stack_walk_pseudo(&g.walk, g.walk.lost);
	counts_add(&g.counts, 0, lost, 0, 3, 3, true);
	uint64_t before = g.budget.used_bytes;

	struct gc_tables_part list[] = { { .counts = &more } };
	tap_int(gc_tables_run(&g.gc.tables, list, 1), 0, "compacted");
	tap_ok(g.budget.used_bytes < before / 2, "less memory is charged");
	tap_int(g.stacks.n, 1 + 2 + 20 + 1, "only the needed nodes remain");
	bool same = true;
	for (uint64_t i = 0; i < 10; i++)
		same &= samples(&g.counts, 1000, 2000 + i * 7) == i + 1 &&
			samples(&more, 1001, 2001 + i * 7) == 100 + i;
	tap_ok(same, "each stack has its samples, in both tables");
	tap_int((long long)samples(&g.counts, 1002, 2002), 0, "an entry without samples is gone");
	engine_add_lost(&g, 0, 4, 4);
	uint64_t n = 0;
	lost = stack_walk_pseudo(&g.walk, g.walk.lost);
	for (uint32_t i = 0; i < g.counts.n; i++)
		n += g.counts.v[i].stack == lost ? g.counts.v[i].n_samples : 0;
	tap_int((long long)n, 7, "pseudo frames are the same as before");
	tap_ok(!gc_tables_is_due(&g.gc.tables), "not again so soon");
	counts_done(&more);
	engine_done(&g);
	return tap_done();
}
