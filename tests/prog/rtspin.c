/*
 * Holds the CPU at real-time priority, as faulty real-time programs do, for at most 8 seconds.
 * Prints "ready" first; status 77 if the priority is not allowed.
 *
 * usage: rtspin    (pin it to one CPU: taskset -c 0 rtspin)
 */
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

int main(void)
{
	const struct sched_param p = { .sched_priority = 20 };
	alarm(8);
	if (sched_setscheduler(0, SCHED_FIFO, &p) < 0)
		return 77;
	puts("ready");
	fflush(stdout);
	for (;;)
		;
}
