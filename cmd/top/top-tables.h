#ifndef CPROF_CMD_TOP_TOP_TABLES_H
#define CPROF_CMD_TOP_TOP_TABLES_H

/* The tables of cprof top: what was counted, added up and in order. */

#include "cmd/top/top-tally.h"

/* Tables of the functions of one thread or TOP_TALLY_ALL, and of the threads.  The caller frees
 * rows. */
int top_tables_functions(const struct top_tally *t, uint32_t thread, enum top_tally_order order,
			 struct top_tally_table *ret, struct err *e);
int top_tables_threads(const struct top_tally *t, struct top_tally_table *ret, struct err *e);

/* The time in each state, if the samples have states; the name is the state's. */
int top_tables_states(const struct top_tally *t, uint32_t thread, struct top_tally_table *ret,
		      struct err *e);

/* Likewise the time that threads wait for each lock, if the samples have locks. */
int top_tables_locks(const struct top_tally *t, uint32_t thread, struct top_tally_table *ret,
		     struct err *e);

/* Of a lock, since the start: who held it longest while others waited, the thread that waited
 * longest, and how many did.  holder 0: unknown. */
struct top_tables_lock { uint32_t holder, waiter; size_t n_waiters; };
struct top_tables_lock top_tables_lock(const struct top_tally *t, uint32_t lock);

/* The idle time of the window, shown or not. */
int64_t top_tables_idle(const struct top_tally *t, uint32_t thread);

#endif
