#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_ORDER_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_ORDER_H

/*
 * Puts records into time order.  perf writes what the rings of all CPUs held, ring after ring,
 * and then a mark (FINISHED_ROUND): what comes behind the next mark is younger than anything that
 * stood before this one.  So at each mark all that is not younger than the youngest of the
 * round before is complete.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfdata_chunk;

/* A record: a reference, no copy. */
struct perfdata_entry {
	uint64_t time_ns;
	const uint8_t *raw;
	struct perfdata_chunk *chunk;  /* that holds it (perfdata-input.h); NULL: the mapped file */
	uint32_t event;        /* whose format decodes it */
	uint32_t stream;       /* the source's: where raw points to */
};

/* More than this many waiting records are delivered as far as half of them, without a mark. */
#define PERFDATA_ORDER_MAX (1u << 20)

struct perfdata_order {
	struct perfdata_entry *v, *tmp;
	size_t n, cap, cap_tmp;
	size_t at, n_ready;    /* v[at .. n_ready) are in order and may be taken */
	size_t n_sorted;       /* v[0 .. n_sorted) are in order */
	uint64_t youngest_ns;  /* of all ever added */
	uint64_t round_ns;     /* youngest_ns at the last mark */
	uint64_t n_early;      /* entries that came after a younger one was made ready */
	uint64_t ready_ns;     /* the youngest time ever made ready */
};

void perfdata_order_done(struct perfdata_order *o);

/* Adds an entry and fills in its time; the rest is for the caller to fill in at once.  To be called
 * only while nothing is ready.  Entries of the same time keep their order.  NULL: no memory. */
struct perfdata_entry *perfdata_order_add(struct perfdata_order *o, uint64_t time_ns);

/* A mark, the end of all, or too many entries: makes entries ready.  -ENOMEM. */
int perfdata_order_round(struct perfdata_order *o);
/* A mark of files that are read side by side: nothing older than now_ns is added any more, but for
 * what the kernel has written out of order, which is less than from one mark to the next. */
int perfdata_order_until(struct perfdata_order *o, uint64_t now_ns);
int perfdata_order_end(struct perfdata_order *o);
int perfdata_order_half(struct perfdata_order *o);

/* The next entry in order, or NULL when nothing is ready; valid until the next call. */
const struct perfdata_entry *perfdata_order_take(struct perfdata_order *o);

#endif
