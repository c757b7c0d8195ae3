#ifndef CPROF_TESTS_KIND_TABLE_H
#define CPROF_TESTS_KIND_TABLE_H

/*
 * A kind of recorder whose records come from a table: waits for locks, as a program could report
 * them.  Each sample has a number of contentions and a delay in nanoseconds.
 */

#include <stddef.h>
#include <stdint.h>

struct cprof_kind;

struct kind_table_wait {
	void *leaf, *caller;       /* code addresses in this process */
	uint64_t n, delay_ns;
	const char *lock;          /* the label "lock"; "state" is always "blocked" */
};

/* The rows that the next recorders of the kind read, and how many of them are there already. */
struct kind_table {
	const struct kind_table_wait *row;
	size_t n_rows;
	uint64_t all_delay_ns;     /* what really happened: the kind's account for coverage */
	int n_open;                /* recorders that were not closed */
};

extern struct kind_table kind_table;

const struct cprof_kind *kind_table_recorder(void);

#endif
