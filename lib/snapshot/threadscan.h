#ifndef CPROF_SNAPSHOT_THREADSCAN_H
#define CPROF_SNAPSHOT_THREADSCAN_H

/*
 * What all threads of some processes are doing, from /proc and their memory, while they go on:
 *
 *     threadscan_init(&s, host, limits);
 *     threadscan_add(&s, pid) ...           lists the threads of processes
 *     threadscan_open(&s);                  opens their files
 *     threadscan_take(&s);                  the snapshot proper: registers and stacks
 *     threadscan_details(&s);               names, states, and where in the kernel they wait
 *     threadscan_done(&s);
 *
 * The scheduler counts how often each thread was given a CPU (/proc/PID/task/TID/schedstat).  A
 * thread with the same count before and after everything was read has not run in between.  All such
 * threads together are one consistent picture.  Those that did run are read again, one by one.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "proc/threadread.h"
#include "snapshot/crew.h"
#include "snapshot/targetmem.h"
#include "proc/threadtext.h"

struct host;

/* Of each stack at first; longer ones are read by threadscan_memory. */
#define THREADSCAN_STACK_BYTES 8192u
#define THREADSCAN_STACK_BYTES_MAX (1u << 20)

enum threadscan_look {
	THREADSCAN_UNREAD,      /* not yet, or beyond the limits */
	THREADSCAN_STILL,       /* it waits, and has not run since from_ns */
	THREADSCAN_MOVED,       /* it waits, but ran before or after it was read */
	THREADSCAN_RUNNING,     /* it has a CPU, or waits for one */
	THREADSCAN_STOPPED,     /* it ran, and its registers were read while it was stopped */
	THREADSCAN_MOVING,      /* it ran each time that it was read */
	THREADSCAN_ENDED,
	THREADSCAN_DENIED,
	THREADSCAN_UNANSWERED,  /* the process holds back its readers (remotemem.h) */
};

struct threadscan_thread {
	uint32_t process;               /* index */
	uint32_t tid;
	enum threadscan_look look;
	int schedstat_fd, syscall_fd;   /* -1: not open; it is opened for each reading */
	struct threadread_times times;  /* when it was read */
	struct threadread_call call;    /* with STILL and MOVED */
	uint32_t n_stack_bytes;
	bool has_moved;                 /* private */
	bool is_done;                   /* the caller's */
	uint32_t stop;                  /* the caller's; 0: it is not stopped */
	/* By threadscan_details.  Without has_details only the name is known. */
	bool has_details;
	struct threadtext_stat stat;
	bool has_exec_start;
	uint64_t exec_start_ns;         /* threadtext_sched */
	char wchan[48], *wait_on;       /* waiton.h, with STILL; NULL: no memory, or another look */
};

struct threadscan_process {
	uint32_t pid;
	int task_fd;
	size_t first, n;                /* its threads */
	bool is_direct;                 /* remotemem.h */
	uint64_t stack_start;           /* of the program that it executed when it was added */
	struct targetmem memory;
	int code, n_maps_again;         /* why it could not be read, -errno; the caller's */
};

struct threadscan {
	const struct host *host;
	VEC(struct threadscan_process) processes;
	VEC(struct threadscan_thread) threads;
	uint8_t *stacks;                /* THREADSCAN_STACK_BYTES for each thread */
	uint64_t from_ns, to_ns;        /* of threadscan_take */
	uint64_t n_beyond;              /* threads beyond the limits, which are not listed */
	/* The threads that read; its fields for the caller are set after threadscan_init. */
	struct crew crew;
	struct keepoff *keepoff;        /* has begun; NULL */
	/* Private. */
	size_t n_fds_max, n_fds, n_threads_max;
	uint64_t end_ns;
	bool is_guarded;                /* some process is: see remotemem.h */
};

struct threadscan_limits { size_t n_threads; uint64_t time_ns; };       /* for everything */

void threadscan_init(struct threadscan *s, const struct host *h,
		     const struct threadscan_limits *limits);
void threadscan_done(struct threadscan *s);

/* Lists the threads of a process.  -errno: -ENOMEM, -ESRCH if it has ended, or why it may not be
 * read; without threads it is not added. */
int threadscan_add(struct threadscan *s, uint32_t pid);
void threadscan_open(struct threadscan *s);
int threadscan_take(struct threadscan *s);  /* -ENOMEM */

/* Reads a thread again that was running. */
void threadscan_again(struct threadscan *s, size_t thread);

/* Reads the stacks of all threads with `stop`, which the caller has stopped. */
void threadscan_stacks(struct threadscan *s);
void threadscan_details(struct threadscan *s);
void threadscan_read_details(struct threadscan *s, struct threadscan_thread *t);  /* of one */
void threadscan_leave_cpus(struct threadscan *s);  /* to those threads that run there */

/* Calls fn for parts of all threads; its ctx is s. */
void threadscan_each(struct threadscan *s, crew_fn *fn);

/* Notes the program of a process that is added. */
void threadscan_note_program(const struct threadscan *s, struct threadscan_process *p);

/* Has the process executed another program since it was added, as the details of its threads say?
 * Then its memory is opened again by threadscan_renew, the caller reads its mappings again, and
 * threadscan_process_again its threads. */
bool threadscan_has_executed(const struct threadscan *s, const struct threadscan_process *p);
void threadscan_renew(struct threadscan *s, struct threadscan_process *p);
void threadscan_process_again(struct threadscan *s, const struct threadscan_process *p);

/* The process executes programs faster than they can be read: its threads count as ended. */
void threadscan_give_up(struct threadscan *s, const struct threadscan_process *p);

/* Does the process, or a thread as far as is known, still execute the program that it did then? */
bool threadscan_has_same_program(const struct threadscan *s, const struct threadscan_process *p);
bool threadscan_is_same_program(const struct threadscan *s, const struct threadscan_thread *t);

static inline uint8_t *threadscan_stack(const struct threadscan *s, size_t thread)
{
	return s->stacks + thread * THREADSCAN_STACK_BYTES;
}

/* Has the thread not run since it was read? */
bool threadscan_is_still(const struct threadscan *s, const struct threadscan_thread *t);

/* Copies up to n_bytes of the memory of a thread that still waits, or was stopped.  Their number;
 * 0: it has moved, or there are none. */
uint32_t threadscan_memory(struct threadscan *s, const struct threadscan_thread *t,
			   uint64_t address, void *buf, uint32_t n_bytes);

/* Reads a text of the thread's folder in /proc and terminates it.  Its length or -errno. */
long threadscan_text(const struct threadscan *s, const struct threadscan_thread *t,
		     const char *name, char *text, size_t n_bytes);

#endif
