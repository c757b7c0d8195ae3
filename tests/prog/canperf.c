/*
 * canperf [kernel]: exits with status 0 if this user may open the simplest event, a clock on itself
 * in user mode, or with "kernel" in both modes; otherwise prints the reason.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = 1000000,
		.disabled = 1,
		.exclude_kernel = argc < 2 || strcmp(argv[1], "kernel") != 0,
		.exclude_hv = 1,
	};
	if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) >= 0)
		return 0;
	puts(strerror(errno));
	return 1;
}
