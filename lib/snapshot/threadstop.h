#ifndef CPROF_SNAPSHOT_THREADSTOP_H
#define CPROF_SNAPSHOT_THREADSTOP_H

/*
 * Stops threads for a moment, by ptrace(2), and reads their registers.  For a thread that waits
 * this is not the same as if nothing had happened: epoll_wait, semop, sigtimedwait, io_getevents,
 * and recv with a time limit return EINTR.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <sys/types.h>

#include "symbolize/arch/arch.h"

struct host;
struct threadstop_shared;

/* How long all threads together may take to stop. */
#define THREADSTOP_WAIT_NS 100000000u

struct threadstop_thread {
	uint32_t tid;
	/* Out: */
	bool is_stopped;                /* and has_regs then */
	uint64_t reg[ARCH_REGS_MAX];    /* those of evattr_user_regs(), in perf's order */
	/* Private. */
	bool is_seized, is_left_out;
	int signal;                     /* that it receives when it goes on */
};

struct threadstop {
	struct threadstop_thread *thread;
	size_t n;
	/* Private. */
	struct threadstop_shared *shared;
	size_t n_max;
	pid_t helper;                   /* 0: this thread has stopped them */
	int socket_fd;
};

/* Makes room for n_max threads; the caller fills their ids in and sets n.  False: no memory. */
bool threadstop_init(struct threadstop *s, size_t n_max);
void threadstop_done(struct threadstop *s);

/*
 * Stops them all.  Threads in uninterruptible sleep must not be among them: they would stop later,
 * when nobody lets them go on.  Returns how many were stopped.
 *
 * A process can keep ptrace(2) waiting while it executes a program (base/remotemem.h).  If one of
 * the threads belongs to a process that is not trusted, a helper process stops them all, and one
 * that does not answer is left out.
 */
size_t threadstop_begin(struct threadstop *s, const struct host *h);

/* Lets them go on. */
void threadstop_end(struct threadstop *s);

#endif
