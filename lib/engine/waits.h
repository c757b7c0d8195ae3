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

struct budget;
struct record;

/* What an event of the session has to do with waits, as bits. */
enum waits_role {
	WAITS_SOURCE = 1,      /* its samples and SWITCH records are those of the scheduler */
	WAITS_CLOCK = 2,       /* its samples show where threads run */
	WAITS_OFF = 4,         /* its profile contains the waits */
	WAITS_RUN = 8,         /* its profile contains the runs */
	WAITS_LOCKS = 16,      /* its profile contains the waits for locks and conditions */
	WAITS_WAKE = 32,       /* its samples are wake-ups: sched:sched_waking with raw data */
	WAITS_WAKERS = 64,     /* its profile contains the waits for locks, where they were ended */
};

enum waits_state {
	WAITS_RUNNING,
	WAITS_RUNNABLE,        /* a new thread, until it runs for the first time */
	WAITS_PREEMPTED,       /* it could have gone on */
	WAITS_BLOCKED,         /* it gave up its CPU */
	WAITS_DISK,            /* likewise, and was seen in uninterruptible sleep */
};

/* The value of the label state. */
const char *waits_state_name(enum waits_state s);

/* A stack and a label set of the engine.  An unknown stack is STACKS_NONE. */
struct waits_place {
	uint32_t stack, labels;
	bool is_partial;       /* the stack does not reach its root */
	bool is_lock;          /* a wait there is one for a lock or a condition */
};

/* Time to be counted. */
struct waits_piece {
	uint32_t pid, tid;
	enum waits_state state;
	uint64_t ns, n;        /* n: 1 in the first piece of a wait, and for a sample of a clock */
	bool is_wake;          /* a whole wait, with the place of the thread that ended it */
	struct waits_place at;
};

typedef void waits_count_fn(void *ctx, const struct waits_piece *p);

/* Code of the kernel. */
struct waits_code { uint64_t start, end; };
#define WAITS_CODE_MAX 2

/* What /proc showed of a thread between two times. */
struct waits_look {
	uint32_t pid, tid;
	uint64_t from_ns, to_ns;
	bool is_waiting, is_disk;
	struct waits_place at;
};

struct waits_thread {
	uint32_t pid, tid;
	enum { WAITS_UNKNOWN, WAITS_ON_CPU, WAITS_OFF_CPU } is;
	uint64_t since_ns;     /* counted up to here; 0: since before the recording */
	/* The present wait. */
	uint64_t began_ns;
	bool is_counted;       /* its n was given */
	bool is_out;           /* its SWITCH out was seen */
	bool is_preempted, is_new;
	bool is_unread;        /* it is in waits.unread */
	struct waits_place at, waker;
	/* The last look.  It is of the wait that contains both its times. */
	struct waits_look look;
	/* Runs that are not counted yet, and where the thread ran last. */
	uint64_t ran_ns;
	struct waits_place ran;
};

struct waits {
	struct budget *budget;
	waits_count_fn *count;
	void *count_ctx;
	uint64_t start_ns, end_ns;  /* only time between them is counted */
	bool has_clock;             /* runs are counted */
	struct waits_code lock_code[WAITS_CODE_MAX];  /* the owner's; zeros: none */
	VEC(struct waits_thread) thread;
	struct hashindex by_tid;
	uint64_t lost_ns;           /* time of the last LOST record */
	uint64_t n_torn;            /* runs and waits between which records are missing */
	VEC(uint32_t) unread;       /* threads that may wait without a stack */
	uint64_t unread_lost_ns;    /* lost_ns when all threads were added to unread */
};

void waits_init(struct waits *w, struct budget *budget, waits_count_fn *count, void *ctx);
void waits_done(struct waits *w);

/* Is SAMPLE r in the code of locks, by the kernel's part of its callchain? */
bool waits_is_lock(const struct waits *w, const struct record *r);

bool waits_knows(const struct waits *w, uint32_t tid);

/* Processes SWITCH, FORK, EXIT and COMM records of targets, and LOST.  Ignores other types. */
void waits_feed(struct waits *w, const struct record *r);

/* The thread leaves its CPU; the stack is that of the wait that begins. */
void waits_sample(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
		  struct waits_place at);

/* The thread that a WAITS_WAKE sample has woken; false: an interrupt or a timer did it.  Only one
 * that waits for a lock, and was not woken yet, wants to know where its waker was. */
bool waits_woken(const struct record *r, uint32_t *ret_tid);
bool waits_wants_waker(const struct waits *w, uint32_t tid);
void waits_wake(struct waits *w, uint32_t tid, struct waits_place waker);

/* A sample of a clock: the thread's run since the previous one was there. */
void waits_clock(struct waits *w, uint32_t pid, uint32_t tid, uint64_t time_ns,
		 struct waits_place at);

/* A thread that existed before the first record. */
void waits_add_thread(struct waits *w, uint32_t pid, uint32_t tid);

/* What a thread was seen doing; ignored if it has ended. */
void waits_add_look(struct waits *w, const struct waits_look *look);

/* Calls each with the threads that have been blocked since before_ns, with an unknown or incomplete
 * stack, and were not looked at since then.  False ends it early. */
void waits_each_unread(struct waits *w, uint64_t before_ns,
		       bool (*each)(void *ctx, uint32_t pid, uint32_t tid), void *ctx);

/* Counts everything up to now_ns. */
void waits_settle(struct waits *w, uint64_t now_ns);

/* Calls each with every place kept here, which it may change. */
void waits_each_place(struct waits *w, void (*each)(void *ctx, struct waits_place *at), void *ctx);

#endif
