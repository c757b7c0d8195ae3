#ifndef CPROF_ENGINE_TARGETS_H
#define CPROF_ENGINE_TARGETS_H

/*
 * Whose samples are wanted: processes, single threads, and what they fork.
 *
 * Needed because an event that is opened per CPU delivers the samples of every
 * task on it.  A command counts only from its exec on: what runs before that
 * is our own code in the child.
 */

#include <stdbool.h>
#include <stdint.h>

struct record;

struct targets_set {           /* open addressing; 0 is free (pid 0 is the idle task) */
	uint32_t *slot;
	uint32_t n, n_slots;
};

struct targets {
	struct targets_set pids;   /* all threads of these processes */
	struct targets_set tids;   /* single threads */
	struct targets_set hosts;  /* processes of single threads: their maps are wanted */
	uint32_t waiting_pid;      /* a command that has not exec'ed yet; 0 */
	uint64_t started_ns;       /* when it surely had, though no record told; 0: not known */
	bool follow;               /* children and later threads belong too */
	bool all;                  /* everything that arrives is wanted */
	bool no_idle;              /* but the idle task, whose ids are 0 */
};

void targets_init(struct targets *t, bool follow);
void targets_done(struct targets *t);

/* -ENOMEM */
int targets_add_pid(struct targets *t, uint32_t pid);
int targets_add_tid(struct targets *t, uint32_t pid, uint32_t tid);

/* pid becomes a target by its next exec; until then nothing of it is wanted. */
void targets_add_command(struct targets *t, uint32_t pid);

bool targets_has(const struct targets *t, uint32_t pid, uint32_t tid);

/* Makes a waiting command a target when time_ns lies behind started_ns: the record of its exec was
 * lost. */
void targets_note_time(struct targets *t, uint64_t time_ns);

/* Forgets the processes of which has() says that nobody knows them. */
void targets_forget(struct targets *t, bool (*has)(void *ctx, uint32_t pid), void *ctx);

/*
 * Takes note of a FORK, EXIT or COMM.  Returns whether the record concerns a
 * target (for a FORK: whether the parent was one).
 */
bool targets_feed(struct targets *t, const struct record *r);

#endif
