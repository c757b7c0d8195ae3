#ifndef CPROF_CMD_TOP_TOP_TALLY_H
#define CPROF_CMD_TOP_TOP_TALLY_H

/*
 * The counts of cprof top for one event: the cost of each function in each thread, in the last
 * refreshes and since the start.  Keeps the profiles of all refreshes, to write them as one.
 */

#include "base/hashindex.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "view/model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define TOP_TALLY_ALL UINT32_MAX

/* The cost of a function in a thread, or the time of a thread in a state. */
struct top_tally_cell {
	uint32_t thread;               /* index */
	uint32_t name;                 /* string id */
	bool is_idle;                  /* of waits for work, cprof-waiting(7) */
	int64_t flat, cum;
};

struct top_tally_cells {
	VEC(struct top_tally_cell) list;
	struct hashindex index;
};

struct top_tally_part { void *data; size_t n_bytes; };

/* The waits for locks that have names: which thread waits for one, and who holds it.  In holders,
 * the thread of a cell is the string id of the lock, and its name that of the holder. */
struct top_tally_locks { struct top_tally_cells waiters, holders; };

/* One refresh. */
struct top_tally_step {
	struct top_tally_cells cells, states;
	struct top_tally_locks locks;
	struct top_tally_part part;    /* the profile; data NULL: no samples */
	uint64_t duration_ns;
};

struct top_tally_thread { uint32_t tid, name; };  /* string ids */

struct top_tally {
	struct strtab strings;
	VEC(struct top_tally_thread) threads;
	struct top_tally_cells total, states;
	struct top_tally_locks locks;
	bool shows_idle;                        /* in tables; may change at any time */
	VEC(struct top_tally_step) steps;       /* the window, oldest first */
	size_t window;                          /* its maximum number of steps */
	VEC(struct top_tally_part) older;       /* before the window; the first is a merged one */
	uint64_t total_ns;
};

/* A row that is shown: a function, or a thread or a state (of which only flat is used). */
struct top_tally_row {
	uint32_t name;                 /* string id, or the index of a thread */
	int64_t last_flat, last_cum, flat, cum;
};
enum top_tally_order {
	TOP_TALLY_LAST_FLAT, TOP_TALLY_LAST_CUM, TOP_TALLY_FLAT, TOP_TALLY_CUM, TOP_TALLY_NAME,
	TOP_TALLY_N_ORDERS
};
struct top_tally_table {
	VEC(struct top_tally_row) rows;
	int64_t last_sum, sum;         /* of flat */
};

/* -ENOMEM with e set. */
int top_tally_init(struct top_tally *t, size_t window, struct err *e);
void top_tally_done(struct top_tally *t);
/* Discards all costs. */
void top_tally_clear(struct top_tally *t);

/* Adds the profile of a refresh, and takes ownership even on failure; data NULL: no samples. */
int top_tally_add(struct top_tally *t, struct top_tally_part part, uint64_t duration_ns,
		  struct err *e);

/* The time that the window covers. */
uint64_t top_tally_last_ns(const struct top_tally *t);

/* Writes one profile of everything since the start, of one thread or all.  -ENODATA: no samples. */
int top_tally_write(const struct top_tally *t, uint32_t thread, const char *comment,
		    int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
		    struct err *e);

#endif
