#ifndef CPROF_LABELS_APPPROCESS_H
#define CPROF_LABELS_APPPROCESS_H

/* One process whose program or libraries set labels, and what was read from it: the parts of
 * applabels.c. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "labels/apptimes.h"
#include "labels/labelmem.h"
#include "proc/idmap.h"

struct applabels;
struct procs_process;

struct appprocess_registry {
	struct labelmem mem;
	bool is_dead;              /* nothing can be read from it any more */
	struct apptimes times;
	struct idmap set;          /* the program's set id -> our set id + 1 */
};

struct appprocess {
	uint32_t pid;
	VEC(struct appprocess_registry) registry;
	uint32_t n_space_changes;  /* the state of the address space that was searched for
				    * registries */
	bool is_searched;
	uint64_t drained_ns;       /* everything up to here is known */
	uint32_t forked_set;       /* the initial set of its first thread */
	bool is_gone;
	struct idmap own_tid;      /* tid -> tid as the process sees it, in another namespace */
};

/* The longest time between two readings. */
uint64_t appprocess_poll_ns_max(const struct applabels *a);

void appprocess_free(struct applabels *a, struct appprocess *p);

/* Looks for the registries of its program and libraries. */
void appprocess_search(struct applabels *a, struct appprocess *p, const struct procs_process *of);

/* Reads the changes of its threads up to now. */
void appprocess_drain(struct applabels *a, struct appprocess *p);

/* The id that the process itself has for a thread. */
uint32_t appprocess_own_tid(struct applabels *a, struct appprocess *p, uint32_t tid);

/* Forgets the sets, which can be read again. */
void appprocess_forget_sets(struct applabels *a, struct appprocess *p);

/* Forgets them, and threads that are gone. */
void appprocess_trim(struct applabels *a, struct appprocess *p);

#endif
