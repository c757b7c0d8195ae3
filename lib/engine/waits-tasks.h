#ifndef CPROF_ENGINE_WAITS_TASKS_H
#define CPROF_ENGINE_WAITS_TASKS_H

/*
 * Waits of tasks that the runtime of a language schedules, such as goroutines.  A task that waits
 * has no thread, so no record of the kernel shows it.  Its state is read from the memory of the
 * program at arbitrary times.
 *
 *     waits_tasks_begin(w, pid, dso, from_ns, now_ns, &reading);
 *     for each task:
 *             if (!waits_tasks_continue(&reading, id, runs))
 *                     waits_tasks_add(&reading, &seen);
 *     waits_tasks_end(&reading);
 */

#include <stdbool.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "engine/waits-thread.h"

struct waits;

/* Places where one task has been seen waiting, STACKS_NONE for those that do not count. */
#define WAITS_HABITS_MAX 3u

struct waits_habit {
	uint32_t stack;
	uint32_t n_met[3];      /* waits that were met by readings once, twice and three times, or
				 * more often */
	float n_added;          /* waits that no reading has met, which were counted here */
};

struct waits_task {
	uint64_t id;
	uint64_t began_ns;      /* when a reading showed its present wait first */
	uint64_t rest_ns;       /* time that is not a whole quantum yet */
	uint32_t n_owed;        /* waits that were not counted at a place yet */
	double n_hidden;        /* how often it has left its thread, and no reading met it then */
	struct waits_habit habit[WAITS_HABITS_MAX]; /* unused: n_met[0] is 0 */
	uint8_t runs;
	bool is_waiting;
	bool is_met;            /* it is known to wait, if only for something that does not count */
	uint8_t n_met;          /* readings that have met its present wait; at most 3 */
	bool is_ready;          /* its wait has ended, but it has not run since */
	struct waits_place at;
};

struct waits_tasks_process {
	uint32_t pid;
	uint32_t dso;           /* the file with the runtime */
	uint64_t since_ns;      /* counted up to here */
	VEC(struct waits_task) task;
	struct hashindex by_id; /* of task, by its number */
};

/* A reading of a process's tasks. */
struct waits_reading {
	struct waits *waits;
	struct waits_tasks_process *process;
	uint64_t now_ns, ns;    /* ns: the time that it stands for */
	VEC(struct waits_task) task;
};

enum waits_task_state {
	WAITS_TASK_RUNS,        /* or is ready to, or its state is unknown */
	WAITS_TASK_LOCKED,      /* it waits for another task, at a known place */
	WAITS_TASK_READY,       /* it did, and has not run since that wait ended */
	WAITS_TASK_ELSEWHERE,   /* it waits for something else */
};

struct waits_task_seen {
	uint64_t id;
	uint8_t runs;           /* changes each time that it leaves a thread, by one */
	enum waits_task_state state;
	struct waits_place at;
};

/* from_ns: since when the process may have had tasks, if it is read for the first time. */
bool waits_tasks_begin(struct waits *w, uint32_t pid, uint32_t dso, uint64_t from_ns,
		       uint64_t now_ns, struct waits_reading *ret);

/* Counts the time of a task that is LOCKED or READY and has not run since the last reading, at the
 * place of that.  False: it has, or it was in another state. */
bool waits_tasks_continue(struct waits_reading *r, uint64_t id, uint8_t runs,
			  enum waits_task_state state);

void waits_tasks_add(struct waits_reading *r, const struct waits_task_seen *seen);

/* Tasks that were not seen have ended. */
void waits_tasks_end(struct waits_reading *r);

/* The runtime's file in a process whose tasks are read; false: they are not. */
bool waits_tasks_has(const struct waits *w, uint32_t pid, uint32_t *ret_dso);

/* Counts what goes on, up to now_ns. */
void waits_tasks_settle(struct waits *w, uint64_t now_ns);

/* The process has ended, or executes another program. */
void waits_tasks_forget(struct waits *w, uint32_t pid, uint64_t time_ns);

void waits_tasks_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at),
			    void *ctx);
void waits_tasks_done(struct waits *w);

#endif
