#ifndef CPROF_ENGINE_WAITS_THREAD_H
#define CPROF_ENGINE_WAITS_THREAD_H

/* What is known of one thread's waits, and what is counted of them: shared by waits-*.c. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agg/stacks.h"
#include "proc/lockread.h"

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
	WAITS_RUNNABLE,        /* until it runs: a new thread, or one that was woken */
	WAITS_PREEMPTED,       /* it could have gone on */
	WAITS_BLOCKED,         /* it gave up its CPU */
	WAITS_SLEEPING,        /* for a time that it has chosen */
	WAITS_DISK,            /* for input and output, or in uninterruptible sleep */
};

/* The value of the label state. */
const char *waits_state_name(enum waits_state s);

/* What a wait is for, as far as the kernel's code or the system call tells. */
enum waits_reason {
	WAITS_FOR_ANYTHING,
	WAITS_FOR_LOCK,        /* or a condition: futex(2) */
	WAITS_FOR_TIME,        /* nanosleep(2), clock_nanosleep(2) */
	WAITS_FOR_DISK,        /* what the kernel counts as input and output */
	WAITS_FOR_CHILD,       /* the thread is in the system call that creates another one */
};

/* A stack and label sets of the engine.  An unknown stack is STACKS_NONE. */
struct waits_place {
	uint32_t stack, labels;
	uint32_t locks;        /* labels in the profiles of locks only; 0: none.  Of a task: labels
				* that it has not while it is ready to run */
	bool is_partial;       /* the stack does not reach its root */
	enum waits_reason reason;  /* of a wait there */
};

static const struct waits_place waits_nowhere = { .stack = STACKS_NONE };

static inline bool waits_is_known(struct waits_place at)
{
	return at.stack != STACKS_NONE;
}

/* Time to be counted. */
struct waits_piece {
	uint32_t pid, tid;
	enum waits_state state;
	uint64_t ns, n;        /* n: 1 in the first piece of a wait, and for a sample of a clock */
	bool is_birth;         /* a new thread; the place is that of the one that created it */
	bool is_wake;          /* a whole wait, with the place of the thread that ended it, */
	uint32_t wakee;        /* and the stack of the one that waited */
	uint64_t n_others;     /* of n: waits without a stack, which the place stands for */
	bool is_below;         /* the wait is shorter than waits.min_ns */
	bool is_torn;          /* part of it was a run: the record of its end is missing */
	uint64_t *task_rest_ns; /* of a task (waits-tasks.h): what remains of its quanta */
	struct waits_place at;
};

typedef void waits_count_fn(void *ctx, const struct waits_piece *p);

/* Code of the kernel in which threads wait for something. */
struct waits_code {
	uint64_t start, end;
	enum waits_reason reason;
	bool has_address;      /* the first argument of its system call is the lock's address */
};
#define WAITS_CODE_MAX 8

/* A thread that may wait without a stack. */
struct waits_unread { uint32_t tid; uint64_t began_ns; };

/* What /proc showed of a thread between two times. */
struct waits_look {
	uint32_t pid, tid;
	uint64_t from_ns, to_ns;
	bool is_waiting, is_disk;
	bool is_cut;           /* more of the stack of its sample: waits-cut.h */
	bool is_reading;       /* at an arbitrary time, however short the wait is */
	struct waits_place at;
	struct lockread_wait lock;  /* that it waits for; zeros: none, or unknown */
	/* Without records (waits-polls.h): since the poll at since_ns, the thread ran and waited
	 * for a CPU that long, and ran that often. */
	bool is_poll;
	uint64_t since_ns, run_ns, ready_ns, n_runs;
};

#define WAITS_N_RESTS 4

struct waits_cut;
struct waits_pool;

struct waits_thread {
	uint32_t pid, tid;
	uint32_t child;        /* the thread that it has created since its last wait; 0: none */
	enum { WAITS_UNKNOWN, WAITS_ON_CPU, WAITS_OFF_CPU } is;
	uint64_t since_ns;     /* counted up to here; 0: since before the recording */
	uint64_t doubt_ns;     /* maybe nothing is known from then on; 0: no doubt */
	/* The present wait. */
	uint64_t began_ns;
	uint64_t woken_ns;     /* since then it waits for a CPU only; 0: unknown */
	bool is_counted;       /* its n was given */
	bool is_out;           /* its SWITCH out was seen */
	bool is_preempted, is_new, is_disk;
	bool is_unread;        /* it is in waits.unread */
	bool has_short;        /* short waits have no stack since the last reading */
	bool is_cut;           /* cut has the sample of this wait */
	struct waits_place at, waker;
	uint64_t weight;       /* wakes that the waker stands for */
	struct lockread_wait lock;  /* zeros: none, or unknown */
	/* When its holder was read last; at.locks has the labels. */
	struct waits_look holding;
	bool is_unheld;        /* it is in waits.unheld */
	/* The last look.  It is of the wait that contains both its times. */
	struct waits_look look;
	/* The last reading of its interpreter's functions: in the stack of native, they make
	 * that of functions.at, which takes the place of it. */
	struct waits_look functions;
	struct waits_place native;
	/* Runs that are not counted yet, and where the thread ran last. */
	uint64_t ran_ns;
	struct waits_place ran;
	struct waits_cut *cut; /* NULL: there was none yet */
	struct waits_pool *pool;  /* NULL: empty */
	/* Time that is not a whole quantum yet, of each kind of profile (waitcount.c). */
	uint64_t rest_ns[WAITS_N_RESTS];
};

#endif
