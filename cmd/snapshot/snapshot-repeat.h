#ifndef CPROF_CMD_SNAPSHOT_SNAPSHOT_REPEAT_H
#define CPROF_CMD_SNAPSHOT_SNAPSHOT_REPEAT_H

/* Several snapshots: how often each stack was seen, and which threads did not move at all. */

#include <stdint.h>
#include <stdio.h>

#include "base/hashindex.h"
#include "base/vec.h"

struct cprof_recorder;

struct snapshot_repeat_stack { uint32_t stack; uint64_t n; };
struct snapshot_repeat_thread { uint32_t pid; uint64_t id, n_runs, n_still; };

struct snapshot_repeat {
	uint64_t n_snapshots, n_seen;
	VEC(struct snapshot_repeat_stack) stacks;
	VEC(struct snapshot_repeat_thread) threads;
	struct hashindex by_stack, by_id;
};

/* Adds the recorder's last snapshot.  Between snapshots cprof_recorder_clear must not be called.
 * -ENOMEM. */
int snapshot_repeat_add(struct snapshot_repeat *s, const struct cprof_recorder *r);
void snapshot_repeat_done(struct snapshot_repeat *s);

/* After the last snapshot. */
void snapshot_repeat_print(FILE *to, struct snapshot_repeat *s, const struct cprof_recorder *r);

#endif
