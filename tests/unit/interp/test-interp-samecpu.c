/* On the CPU of a thread that runs. */

#include "interp/interp-samecpu.h"

#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* A child that spins on the last CPU that this process may use. */
static pid_t spin_on(int *ret_cpu)
{
	cpu_set_t all, one;
	sched_getaffinity(0, sizeof(all), &all);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &all))
			*ret_cpu = i;
	CPU_ZERO(&one);
	CPU_SET(*ret_cpu, &one);
	pid_t pid = fork();
	if (pid == 0) {
		sched_setaffinity(0, sizeof(one), &one);
		for (;;)
			;
	}
	return pid;
}

int main(void)
{
	struct interp_samecpu c = { .n = 0 };
	cpu_set_t before, after;
	uint32_t n = 0;
	int cpu = 0;
	tap_ok(!interp_samecpu_enter(&c, UINT32_MAX), "a thread that does not exist");
	pid_t pid = spin_on(&cpu);
	usleep(100000);
	sched_getaffinity(0, sizeof(before), &before);
	bool is_there = interp_samecpu_enter(&c, (uint32_t)pid);
	tap_ok(is_there, "there");
	tap_int(sched_getcpu(), cpu, "on its CPU");
	interp_samecpu_leave(&c);
	sched_getaffinity(0, sizeof(after), &after);
	tap_ok(CPU_EQUAL(&before, &after), "back on all CPUs that it might use");
	while (n < 1000 && interp_samecpu_enter(&c, (uint32_t)pid)) {
		interp_samecpu_leave(&c);
		n++;
	}
	tap_ok(n < 1000, "only some times in a row");
	c = (struct interp_samecpu){ .n = 0 };
	for (n = 0; n < 1000; n++)
		interp_samecpu_enter(&c, UINT32_MAX);
	tap_ok(!interp_samecpu_enter(&c, (uint32_t)pid), "attempts that fail count as well");
	struct interp_samecpu_all all = { .n = 0 };
	for (n = 0; n < 100; n++) {
		c = (struct interp_samecpu){ .all = &all };
		for (int i = 0; i < 100; i++)
			interp_samecpu_enter(&c, UINT32_MAX);
	}
	c = (struct interp_samecpu){ .all = &all };
	tap_ok(!interp_samecpu_enter(&c, (uint32_t)pid), "also those of other processes");
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return tap_done();
}
