/* The goroutines of a hostile program (gohostile.h).  The list is at the start of its memory. */

#include "snapshot/gocapture.h"
#include "symbolize/runtime/go-program.h"
#include "tests/fuzz/gohostile.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gohostile memory;
	const struct go_layout *l = gohostile_open(data, size, &memory);
	if (!l)
		return 0;
	const struct runtime_memory m = { gohostile_read, &memory };
	const struct go_program p = { .layout = *l, .allgs = GOHOSTILE_BASE };
	struct gocapture c = { .max_goroutines = 2000, .max_stack_bytes = 4096,
			       .max_window_bytes = 32768 };
	int r = gocapture_begin(&c, &p, &m);
	while (r >= 0 && (r = gocapture_next(&c)) > 0) {
		for (size_t i = 0; i < c.goroutines.n; i++) {
			const struct gocapture_goroutine *g = &c.goroutines.v[i];
			if (g->stack_off > c.stacks.n ||
			    g->n_stack_bytes > c.stacks.n - g->stack_off)
				abort();
			if (g->labels != GOCAPTURE_NO_LABELS && g->labels >= c.labels.n)
				abort();
			if (g->n_stack_bytes && (g->how == GOCAPTURE_MOVING ||
						 g->how == GOCAPTURE_RUNNING) &&
			    g->g.sp < g->g.lo)
				abort();
		}
	}
	gocapture_done(&c);
	return 0;
}
