/*
 * Interrupts each CPU after every NANOSECONDS of CPU time while a command runs: the emulated PMU
 * notices the overflow of some counters only at an exception (see boot.sh).
 *
 * usage: kick NANOSECONDS COMMAND [ARG...]
 */
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	if (argc < 3)
		return 64;
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = strtoull(argv[1], NULL, 0),
	};
	long n_cpus = sysconf(_SC_NPROCESSORS_ONLN);
	for (int cpu = 0; cpu < n_cpus; cpu++) {
		/* without O_CLOEXEC: the command keeps it open */
		if (syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0) < 0) {
			perror("kick: perf_event_open");
			return 1;
		}
	}
	execvp(argv[2], argv + 2);
	perror("kick: execvp");
	return 127;
}
