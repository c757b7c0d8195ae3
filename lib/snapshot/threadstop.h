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

#include "symbolize/arch/arch.h"

/* How long all threads together may take to stop. */
#define THREADSTOP_WAIT_NS 100000000u

struct threadstop_thread {
	uint32_t tid;
	/* Out: */
	bool is_stopped;                /* and has_regs then */
	uint64_t reg[ARCH_REGS_MAX];    /* those of evattr_user_regs(), in perf's order */
	/* Private. */
	bool is_seized;
	int signal;                     /* that it receives when it goes on */
};

/* Stops them all.  Threads in uninterruptible sleep must not be among them: they would stop later,
 * when nobody lets them go on.  Returns how many were stopped. */
size_t threadstop_begin(struct threadstop_thread *t, size_t n);

/* Lets them go on. */
void threadstop_end(struct threadstop_thread *t, size_t n);

#endif
