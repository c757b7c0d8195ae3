#ifndef CPROF_RECORDER_KINDS_OWNTID_H
#define CPROF_RECORDER_KINDS_OWNTID_H

/* Threads by the ids that they have in their own pid namespace, as in the memory of a process. */

#include <stdint.h>

struct host;

#define OWNTID_CACHED 64u

/* What was found before.  Zeroed at first. */
struct owntid {
	struct { uint32_t pid, own, tid; } entry[OWNTID_CACHED];
};

/* The id, as in /proc, of the thread of process pid that calls itself own; 0: there is none.  It
 * may have ended since it was found. */
uint32_t owntid_find(struct owntid *c, const struct host *h, uint32_t pid, uint32_t own);

/* The thread has ended, and its id may be that of another one. */
void owntid_forget(struct owntid *c, uint32_t pid, uint32_t own);

#endif
