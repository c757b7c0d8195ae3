#ifndef CPROF_RECORDER_KINDS_ALLOCIDS_H
#define CPROF_RECORDER_KINDS_ALLOCIDS_H

/* Ids in the records of a ring: those of the pid namespace of the processes that write to it. */

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "proc/idmap.h"

struct host;
struct record;

struct allocids_process { uint32_t pid, own_pid; };   /* as we see it; as it sees itself */

struct allocids {
	VEC(struct allocids_process) process;
	bool is_foreign;                   /* some ids are not those that we see */
	struct idmap tid;                  /* own id of a thread -> ours + 1 */
	uint64_t searched_ns;
};

void allocids_done(struct allocids *a);

/* A process that writes to the ring; false: no memory.  It may be known already. */
bool allocids_add(struct allocids *a, const struct host *h, uint32_t pid);
void allocids_remove(struct allocids *a, uint32_t pid);

/* Replaces the ids of the record by ours.  A thread that has ended already becomes the main one.
 * False: the process is unknown. */
bool allocids_translate(struct allocids *a, const struct host *h, struct record *r);

#endif
