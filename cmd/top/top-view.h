#ifndef CPROF_CMD_TOP_TOP_VIEW_H
#define CPROF_CMD_TOP_TOP_VIEW_H

/* The lines of cprof top: a pure function of the state and the terminal. */

#include "cmd/term.h"
#include "cmd/top/top-tables.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sums since the start, or the last reset. */
struct top_view_losses {
	uint64_t n_samples, n_lost, n_throttles;
	uint64_t n_cut, n_truncated;   /* stacks without their outer frames */
	uint64_t n_dropped;            /* samples without a stack, for lack of memory */
	uint64_t n_undecodable;
};

struct top_view {
	const char *target;            /* "PID 12", "sleep" */
	const char *event;             /* "cpu-clock" */
	const char *unit;              /* of the values, "nanoseconds" */
	uint64_t freq_hz, period;      /* one of them is 0 */
	const char *message;           /* of the last key; NULL: show the keys instead */
	bool is_frozen, has_ended, wants_help;
	double own_cpu;                /* share of one CPU, 0.02 */
	struct top_view_losses losses;
	const struct top_tally *tally;
	const struct top_tally_table *functions, *threads;
	const struct top_tally_table *states; /* may be NULL */
	const struct top_tally_table *locks;  /* may be NULL */
	bool is_waiting;               /* the values are thread time, which has no rate */
	enum top_tally_order order;
	uint32_t thread;               /* index of the zoomed thread, or TOP_TALLY_ALL */
	size_t first;                  /* function in the first line, after scrolling */
};

/* Prints at most `height` lines (0: `limit` functions and all threads) of at most t->width columns
 * (0: unlimited), each with '\n'. */
void top_view_print(const struct top_view *v, const struct term *t, int height, size_t limit);

/* The number of threads shown at this height, which the keys 1 to 9 select. */
size_t top_view_n_threads(const struct top_view *v, int height);

const char *top_view_order_name(enum top_tally_order order);

#endif
