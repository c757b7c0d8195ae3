#ifndef CPROF_LABELS_APPTIMES_H
#define CPROF_LABELS_APPTIMES_H

/*
 * When the threads of one process changed their labels, and to which set, as far back as samples
 * may still need.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "proc/idmap.h"

struct budget;

/* Instead of a set: the thread's set is unknown. */
#define APPTIMES_UNKNOWN UINT32_MAX

struct apptimes {
	struct budget *budget;     /* borrowed */
	struct idmap thread;       /* by tid as the process sees it */
};

void apptimes_init(struct apptimes *t, struct budget *budget);
void apptimes_done(struct apptimes *t);

/* Begins a reading: changes are counted from here. */
void apptimes_begin(struct apptimes *t);

/*
 * Thread tid has had set (an id in labels, or APPTIMES_UNKNOWN) since time_ns, which must not
 * decrease.  The call stands for n changes; no time before floor_ns will be looked up.  Returns the
 * number of changes of this thread since apptimes_begin.
 */
uint32_t apptimes_append(struct apptimes *t, uint32_t tid, uint64_t time_ns, uint32_t set,
			 uint32_t n, uint64_t floor_ns);

/* Nothing is known about the thread after its last known change. */
uint32_t apptimes_append_gap(struct apptimes *t, uint32_t tid, uint32_t n, uint64_t floor_ns);

/* The set at that time; before the first change, the thread's initial set.  False: unknown
 * thread. */
bool apptimes_at(struct apptimes *t, uint32_t tid, uint64_t time_ns, uint32_t before,
		 uint32_t *ret_set);

/* Forgets threads that are not in alive (by tid) and had neither a change nor a look-up since
 * since_ns. */
void apptimes_forget(struct apptimes *t, const struct idmap *alive, uint64_t since_ns);

/* Calls each for every id of a set; each may change the id. */
void apptimes_each_set(struct apptimes *t, void (*each)(void *ctx, uint32_t *set), void *ctx);

#endif
