#ifndef CPROF_PROG_PROGCLOCK_H
#define CPROF_PROG_PROGCLOCK_H

/*
 * The time that a program has a CPU, by a clock like that of a recording: unlike the kernel's
 * accounts it includes interrupts, and time that the hypervisor took.
 */

#include "prog.h"

#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Counts for this process and the threads that it creates from now on.  -1: not allowed. */
static inline int prog_clock_open(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK, .inherit = 1,
	};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

/* After all threads were joined. */
static inline void prog_print_clock(int fd)
{
	uint64_t ns;
	if (fd >= 0 && read(fd, &ns, sizeof(ns)) == sizeof(ns))
		printf("clock_ns %" PRIu64 "\n", ns);
}

#endif
