#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_ORDER_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_ORDER_H

/*
 * Puts records into time order.  perf writes the contents of the rings of all CPUs, ring after
 * ring, then a mark (FINISHED_ROUND).  Records after the next mark are younger than any record
 * before this one.  So at each mark, everything not younger than the youngest record of the
 * previous round is complete.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct perfdata_chunk;

/* A reference to a record, not a copy. */
struct perfdata_entry {
	uint64_t time_ns;
	const uint8_t *raw;
	struct perfdata_chunk *chunk;  /* holds it (perfdata-input.h); NULL: in the mapped file */
	uint32_t event;        /* its format decodes the record */
	uint32_t stream;       /* the source's stream that raw points into */
};

/* If more records than this wait, half of them are delivered without a mark. */
#define PERFDATA_ORDER_MAX (1u << 20)

struct perfdata_order {
	struct perfdata_entry *v, *tmp;
	size_t n, cap, cap_tmp;
	size_t at, n_ready;    /* v[at .. n_ready) are in order and can be taken */
	size_t n_sorted;       /* v[0 .. n_sorted) are in order */
	uint64_t youngest_ns;  /* of all records ever added */
	uint64_t round_ns;     /* youngest_ns at the last mark */
	uint64_t n_early;      /* entries added after a younger one was made ready */
	uint64_t ready_ns;     /* the youngest time ever made ready */
};

void perfdata_order_done(struct perfdata_order *o);

/* Adds an entry with its time; the caller must fill in the rest at once.  Allowed only while
 * nothing is ready.  Entries with equal times keep their order.  NULL: out of memory. */
struct perfdata_entry *perfdata_order_add(struct perfdata_order *o, uint64_t time_ns);

/* At a mark, at the end, or when too many entries wait: makes entries ready.  -ENOMEM. */
int perfdata_order_round(struct perfdata_order *o);
/* The same for files that are read in parallel: nothing older than now_ns will be added, except
 * records that the kernel wrote out of order, by less than the distance of two marks. */
int perfdata_order_until(struct perfdata_order *o, uint64_t now_ns);
int perfdata_order_end(struct perfdata_order *o);
int perfdata_order_half(struct perfdata_order *o);

/* The next entry in order, valid until the next call; NULL: nothing is ready. */
const struct perfdata_entry *perfdata_order_take(struct perfdata_order *o);

#endif
