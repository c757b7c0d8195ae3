#ifndef CPROF_ENGINE_TARGETS_H
#define CPROF_ENGINE_TARGETS_H

/*
 * The targets: processes, single threads, and their children.
 *
 * An event per CPU delivers the samples of every task on it, so they must be filtered.  A command
 * is a target only from its exec on: before that, the child runs our own code.
 */

#include "base/hashindex.h"

#include <stdbool.h>
#include <stdint.h>

struct record;

struct targets {
	struct hashindex pids;     /* all threads of these processes */
	struct hashindex tids;     /* single threads */
	struct hashindex hosts;    /* processes of single threads, for their maps */
	uint32_t waiting_pid;      /* a command before its exec; 0: none */
	uint64_t started_ns;       /* latest time of its exec, if no record came; 0: unknown */
	bool follow;               /* children and later threads are targets, too */
	bool all;                  /* everything is a target */
	bool no_idle;              /* except the idle task, whose ids are 0 */
};

void targets_init(struct targets *t, bool follow);
void targets_done(struct targets *t);

/* Makes `to` what `from` is; -ENOMEM. */
int targets_copy(struct targets *to, const struct targets *from);

/* -ENOMEM */
int targets_add_pid(struct targets *t, uint32_t pid);
int targets_add_tid(struct targets *t, uint32_t pid, uint32_t tid);

/* pid becomes a target at its next exec. */
void targets_add_command(struct targets *t, uint32_t pid);

bool targets_has(const struct targets *t, uint32_t pid, uint32_t tid);

/* A sample shows that a thread is a target, although the record of its birth may be lost.  False: a
 * command waits for its exec, or memory is short. */
bool targets_note_sample(struct targets *t, uint32_t pid, uint32_t tid);

/* Makes a waiting command a target if time_ns is after started_ns: the record of its exec was lost.
 */
void targets_note_time(struct targets *t, uint64_t time_ns);

/* Drops the processes for which has() returns false. */
void targets_forget(struct targets *t, bool (*has)(void *ctx, uint32_t pid), void *ctx);

/* Processes a FORK, EXIT or COMM.  Returns whether the record concerns a target (for a FORK:
 * whether the parent was one). */
bool targets_feed(struct targets *t, const struct record *r);

#endif
