#ifndef CPROF_PROC_THREADREAD_H
#define CPROF_PROC_THREADREAD_H

/*
 * What a thread is doing, from /proc and its memory, without stopping it: if it waits in the
 * kernel, the registers that the kernel shows and the innermost part of its stack, as a SAMPLE
 * record.  Needs the right to trace the thread (ptrace(2), PTRACE_MODE_ATTACH_FSCREDS).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "event/callregs.h"

struct host;
struct record;

/* Enough for most threads that wait.  For longer stacks see long_stack. */
#define THREADREAD_STACK_BYTES 4096u
#define THREADREAD_STACK_BYTES_MAX 65536u

/* What a thread that waits is doing in the kernel. */
struct threadread_call {
	long syscall;           /* the number of its system call; -1: in none, or unknown */
	uint64_t arg[6];        /* of the call */
	uint64_t sp, pc;
};

struct threadread {
	/* The caller's: records of switches show whether the thread has moved while it was read. */
	bool has_records;
	bool long_stack;        /* the caller's: read up to THREADREAD_STACK_BYTES_MAX */
	bool is_waiting;        /* it has no CPU, and does not compete for one */
	bool is_disk;           /* in uninterruptible sleep */
	struct threadread_call call;
	uint64_t from_ns, to_ns;
	/* Private: the open files of one process, and what the record borrows. */
	uint32_t open_pid;      /* 0: none */
	int task_fd;
	uint64_t reg[CALLREGS_MAX];
	uint64_t stack[THREADREAD_STACK_BYTES_MAX / 8];
};

/*
 * Looks at a thread.  If it waits, *ret_sample is its SAMPLE at t->to_ns, without an event, which
 * borrows from t; otherwise it is a SAMPLE without registers.  Without has_records, a thread that
 * ran in between is looked at again, a few times.  -errno: -ESRCH or -ENOENT if it has ended,
 * -EACCES or -EPERM if it may not be read, -EAGAIN if it kept changing.
 */
int threadread_look(const struct host *h, uint32_t pid, uint32_t tid,
		    const struct callregs_numbers *regs, struct threadread *t,
		    struct record *ret_sample);

/* Reads the stack of a thread that does not run, from sp upwards, into t->stack: the number of
 * bytes, up to THREADREAD_STACK_BYTES_MAX with long_stack. */
size_t threadread_stack(const struct host *h, uint32_t pid, uint32_t tid, uint64_t sp,
			struct threadread *t);

/* The scheduler's account of a thread: how long it ran and how long it waited for a CPU, and how
 * often it got one.  -errno as above, or -EINVAL. */
struct threadread_times { uint64_t run_ns, ready_ns, n_runs; };
int threadread_times(const struct host *h, uint32_t pid, uint32_t tid, struct threadread *t,
		     struct threadread_times *ret);
bool threadread_parse_times(const char *line, struct threadread_times *ret);

/* Closes the files that threadread_look keeps open from one thread of a process to the next.  A
 * process may start another program, so they must not stay open for long. */
void threadread_close(struct threadread *t);

/* Reads one line of /proc/PID/task/TID/syscall.  False: it is none of a waiting thread. */
bool threadread_parse(const char *line, struct threadread_call *ret);

/* The letter of the thread's state in the text of /proc/PID/task/TID/stat; 0: unknown. */
char threadread_state(const char *stat);

#endif
