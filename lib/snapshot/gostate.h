#ifndef CPROF_SNAPSHOT_GOSTATE_H
#define CPROF_SNAPSHOT_GOSTATE_H

/* Which goroutines wait for another one. */

#include <stdbool.h>
#include <stdint.h>

#include "engine/waits-tasks.h"
#include "symbolize/runtime/go-places.h"

struct go_g;

struct gostate {
	bool is_lock[GO_REASONS_MAX];   /* the reason to wait is another goroutine */
	uint64_t park_pc;               /* where goroutines that wait go on; 0: not seen yet */
};

void gostate_init(struct gostate *x, const struct go_reasons *reasons);

/* The state of a goroutine that was read.  What it shows of this program's goroutines is kept. */
enum waits_task_state gostate_of(struct gostate *x, const struct go_g *g);

#endif
