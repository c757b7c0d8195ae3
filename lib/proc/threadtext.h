#ifndef CPROF_PROC_THREADTEXT_H
#define CPROF_PROC_THREADTEXT_H

/* Texts of /proc/PID/task/TID (proc(5)).  A thread chooses its own name, so that a text may contain
 * anything in that place. */

#include <stdbool.h>
#include <stdint.h>

#define THREADTEXT_NAME_MAX 64

/* "stat" */
struct threadtext_stat {
	char name[THREADTEXT_NAME_MAX];
	char state;             /* 'S' ... */
	bool is_kernel;         /* a thread of the kernel */
	uint32_t cpu;           /* where it ran last; UINT32_MAX: unknown */
	uint64_t stack_start;   /* of the program that it executes; 0: unknown */
};
bool threadtext_stat(const char *text, struct threadtext_stat *ret);

/* "sched": the time of the scheduler's clock of its CPU when the thread last left that CPU.
 * False: this kernel does not show it. */
bool threadtext_sched(const char *text, uint64_t *ret_exec_start_ns);

/* "wchan", in place: the function of the kernel that the thread waits in; "": unknown. */
const char *threadtext_wchan(char *text);

/* "sleeping" for 'S' ...; "unknown" for other letters. */
const char *threadtext_state(char state);

#endif
