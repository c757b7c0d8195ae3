#ifndef CPROF_ENGINE_WAITS_H
#define CPROF_ENGINE_WAITS_H

/*
 * How long threads wait, and where.
 *
 * The scheduler's records cut the life of a thread into waits and runs: a SAMPLE when it leaves its
 * CPU, with the stack of the wait; SWITCH out, which says whether it was preempted; SWITCH in, the
 * end of the wait.  Records must arrive in time order.  The length of a wait is exact, whatever
 * becomes of its stack, and no time is given to the stack of another wait.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashindex.h"
#include "base/vec.h"
#include "engine/waits-tasks.h"
#include "engine/waits-thread.h"

struct budget;
struct record;

struct waits {
	struct budget *budget;
	waits_count_fn *count;
	void *count_ctx;
	uint64_t start_ns, end_ns;  /* only time between them is counted */
	bool has_clock;             /* runs are counted */
	struct waits_code code[WAITS_CODE_MAX];  /* the owner's; zeros: none */
	bool is_thinned;            /* the owner's: only some waits have a stack */
	bool has_readings;          /* the owner's: short ones are read at arbitrary times */
	uint64_t wake_scale;        /* the owner's: a factor of all weights of wakes; 0: 1 */
	uint64_t min_ns;            /* the owner's: shorter ones count for all time only */
	VEC(struct waits_thread) thread;
	struct hashindex by_tid;
	VEC(struct waits_tasks_process) tasks;  /* waits-tasks.h */
	bool has_tasks;             /* there were some */
	uint64_t lost_ns;           /* time of the last LOST record */
	uint64_t n_switches;        /* SWITCH records */
	uint64_t n_partial;         /* waits whose sample had an incomplete stack */
	uint64_t n_torn;            /* runs and waits between which records are missing */
	VEC(struct waits_unread) unread;  /* threads that may wait without a stack */
	bool has_short;             /* some of the threads may have it */
	size_t next_short;          /* the thread whose short waits are read next */
	bool wants_holders;         /* the owner's: unheld is filled */
	VEC(uint32_t) unheld;       /* threads whose wait for a lock has begun */
	uint64_t unread_lost_ns;    /* lost_ns when all threads were added to unread */
};

void waits_init(struct waits *w, struct budget *budget, waits_count_fn *count, void *ctx);
void waits_done(struct waits *w);

/* While they are thinned, waits of this length or longer must get a stack by a look. */
#define WAITS_LONG_NS 10000000u
/* With readings: longer ones are looked at anyway. */
#define WAITS_SHORT_NS 1500000u

/* NULL: it is unknown, or has ended. */
struct waits_thread *waits_find(const struct waits *w, uint32_t tid);

bool waits_knows(const struct waits *w, uint32_t tid);

/* Processes SWITCH, FORK, EXIT and COMM records of targets, and LOST.  Ignores other types. */
void waits_feed(struct waits *w, const struct record *r);

/* Records of its thread may follow EXIT r; otherwise it is counted up to there. */
void waits_doubt(struct waits *w, const struct record *r);

/* The thread leaves its CPU; the stack is that of the wait that begins. */
void waits_sample(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
		  struct waits_place at);

/* A thread begins to wait in the call that creates another one: if that one has not run yet, at is
 * where it waits, too.  To be called before waits_sample. */
void waits_birth(struct waits *w, uint32_t creator, struct waits_place at);

/* SAMPLE r, whose stack is incomplete, began the thread's wait. */
void waits_keep_cut(struct waits *w, uint32_t tid, const struct record *r);

/* The lock of the thread's wait, which has begun. */
void waits_lock(struct waits *w, uint32_t tid, const struct lockread_wait *lock);

/* The thread that a WAITS_WAKE sample has woken waits for a CPU from now on. */
void waits_note_wake(struct waits *w, const struct record *r);

/* The thread that a WAITS_WAKE sample has woken; false: an interrupt or a timer did it.  Only one
 * that waits for a lock, and was not woken yet, wants to know where its waker was.  The sample
 * stands for weight wakes; 0 is 1. */
bool waits_woken(const struct record *r, uint32_t *ret_tid);
bool waits_wants_waker(const struct waits *w, uint32_t tid);
void waits_wake(struct waits *w, uint32_t tid, uint64_t weight, struct waits_place waker);

/* A sample of a clock: the thread's run since the previous one was there. */
void waits_clock(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
		 struct waits_place at);

/* Counts what the thread has done up to then, as it goes on. */
void waits_count_until(struct waits *w, struct waits_thread *t, uint64_t time_ns);

/* A thread that existed before the first record. */
void waits_add_thread(struct waits *w, uint32_t pid, uint32_t tid);

/* Counts everything up to now_ns. */
void waits_settle(struct waits *w, uint64_t now_ns);

/* Calls each with every place kept here, which it may change; some have labels only. */
void waits_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at), void *ctx);

#endif
