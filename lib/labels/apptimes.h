#ifndef CPROF_LABELS_APPTIMES_H
#define CPROF_LABELS_APPTIMES_H

/*
 * When the threads of one process changed their labels, as far back as samples may still ask, and
 * to which set.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/idmap.h"

struct budget;

/* In place of a set: what the thread had is not known. */
#define APPTIMES_UNKNOWN UINT32_MAX

struct apptimes {
	struct budget *budget;     /* borrowed */
	struct idmap thread;       /* by tid as the process sees it */
};

void apptimes_init(struct apptimes *t, struct budget *budget);
void apptimes_done(struct apptimes *t);

/* Changes are going to be told. */
void apptimes_begin(struct apptimes *t);

/*
 * Thread tid has had set (an id in labels, or APPTIMES_UNKNOWN) since time_ns, which goes forward.
 * It stands for n changes; nothing will be asked of moments before floor_ns.  Returns how many
 * changes of this thread came since apptimes_begin.
 */
uint32_t apptimes_append(struct apptimes *t, uint32_t tid, uint64_t time_ns, uint32_t set,
			 uint32_t n, uint64_t floor_ns);

/* From the last known change on nothing is known of the thread. */
uint32_t apptimes_append_gap(struct apptimes *t, uint32_t tid, uint32_t n, uint64_t floor_ns);

/* The set at that time; before: what the thread began with.  False: nothing was told of it. */
bool apptimes_at(struct apptimes *t, uint32_t tid, uint64_t time_ns, uint32_t before,
		 uint32_t *ret_set);

/* Forgets threads that are not in alive (by tid) and were neither told nor asked of since then. */
void apptimes_forget(struct apptimes *t, const struct idmap *alive, uint64_t since_ns);

/* Calls each with every id of a set, which it may change. */
void apptimes_each_set(struct apptimes *t, void (*each)(void *ctx, uint32_t *set), void *ctx);

#endif
