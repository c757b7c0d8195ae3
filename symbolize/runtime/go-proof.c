/*
 * Every field that a snapshot uses is tested by what only the right one can be.  A wrong layout
 * reads neighbouring fields instead: stack pointers, other goroutines, counters.
 */

#include "symbolize/runtime/go-proof.h"

#include "symbolize/runtime/go-labels.h"
#include "symbolize/runtime/go-places.h"
#include "symbolize/runtime/go-table.h"
#include "symbolize/runtime/runtime-memory.h"

#define TRIED_END 64u                   /* goroutines at each end of the list */
#define NUMBER_MAX (1ull << 48)         /* of goroutines and bubbles */
#define TID_MAX (1u << 22)              /* PID_MAX_LIMIT, include/linux/threads.h */
#define ALIVE_MIN 2u                    /* every program has these: the runtime's own */

struct proof {
	const struct go_places *places;
	const struct go_layout *layout;
	uint64_t main_pc;
	unsigned int n_alive;
	bool found_main;
	struct go_labels labels;
};

static bool is_code(const struct proof *x, uint64_t pc)
{
	struct go_table_function f;
	return go_table_find(x->places->table, pc - x->places->bias, &f);
}

static bool is_function(const struct proof *x, uint64_t pc)
{
	struct go_table_function f;
	return go_table_find(x->places->table, pc - x->places->bias, &f) &&
	       f.start + x->places->bias == pc;
}

/* A structure of a thread, or none. */
static bool is_thread(const struct proof *x, uint64_t m)
{
	uint64_t tid;
	return !m || (m % 8 == 0 && runtime_memory_read(x->places->memory, m + x->layout->m_proc_id,
							&tid, sizeof(tid)) && tid < TID_MAX);
}

static bool is_bubble(const struct proof *x, uint64_t bubble)
{
	uint64_t id;
	return !bubble || !x->layout->bubble_id ||
	       (bubble % 8 == 0 && runtime_memory_read(x->places->memory,
						       bubble + x->layout->bubble_id, &id,
						       sizeof(id)) && id < NUMBER_MAX);
}

static bool are_labels(struct proof *x, uint64_t at)
{
	return !at || (at % 8 == 0 && go_labels_read(x->places->memory, x->layout->label_format, at,
						     &x->labels));
}

static bool fits(struct proof *x, const struct go_g *g)
{
	if (!go_g_is_plausible(g))
		return false;
	if (!go_g_is_alive(g))
		return true;
	x->n_alive++;
	x->found_main |= g->goid == 1 && g->start_pc == x->main_pc;
	return is_function(x, g->start_pc) && is_code(x, g->go_pc) &&
	       g->parent < NUMBER_MAX && g->wait_reason < GO_REASONS_MAX &&
	       (g->status == GO_RUNNING || is_code(x, g->pc)) &&
	       is_thread(x, g->m) && is_thread(x, g->locked_m) && is_bubble(x, g->bubble) &&
	       are_labels(x, g->labels);
}

static bool fits_at(struct proof *x, uint64_t slot)
{
	uint8_t b[GO_LAYOUT_G_BYTES_MAX];
	uint64_t at;
	struct go_g g;
	if (!runtime_memory_read(x->places->memory, slot, &at, sizeof(at)) ||
	    !runtime_memory_read(x->places->memory, at, b, go_layout_g_bytes(x->layout)))
		return false;
	go_g_decode(x->layout, b, &g);
	return fits(x, &g);
}

bool go_proof_fits(const struct go_places *p, const struct go_layout *l, uint64_t allgs,
		   uint64_t main_pc)
{
	struct proof x = { .places = p, .layout = l, .main_pc = main_pc };
	struct go_slice s;
	if (go_layout_g_bytes(l) > GO_LAYOUT_G_BYTES_MAX ||
	    !runtime_memory_read(p->memory, allgs, &s, sizeof(s)))
		return false;
	bool is_right = true;
	for (uint64_t i = 0; i < s.n && is_right; i++) {
		if (i == TRIED_END && s.n > 2 * TRIED_END)
			i = s.n - TRIED_END;
		is_right = fits_at(&x, s.at + 8 * i);
	}
	go_labels_done(&x.labels);
	return is_right && x.found_main && x.n_alive >= ALIVE_MIN;
}
