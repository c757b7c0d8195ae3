/*
 * A server that forks for each connection: every 5 ms a child that works for one to two
 * milliseconds, and a little work in the parent.
 *
 * usage: forks [CHILDREN]
 */
#include "prog.h"

#include <sys/wait.h>
#include <unistd.h>

#define INTERVAL_NS 5000000u

PROG_NOINLINE static void child_work(uint64_t i)
{
	prog_work(400000 + i % 5 * 100000);
	PROG_KEEP_FRAME();
}

PROG_NOINLINE static void parent_work(void)
{
	prog_work(150000);
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	uint64_t n = prog_arg(argc, argv, 1, 600);
	uint64_t due = prog_clock_ns(CLOCK_MONOTONIC);

	for (uint64_t i = 0; i < n; i++, due += INTERVAL_NS) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			child_work(i);
			_exit(0);
		}
		parent_work();
		waitpid(pid, NULL, 0);
		struct timespec at = {.tv_sec = (time_t)(due / 1000000000u),
			.tv_nsec = (long)(due % 1000000000u)};
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	}
	prog_print_cpu();
	return 0;
}
