/*
 * N threads, one after the other, each of which works for a few microseconds and ends, long before
 * a sampling period is over.
 *
 * usage: shortthreads [N [MICROSECONDS]]
 */
#include "prog.h"

#include <pthread.h>

PROG_NOINLINE static void *short_work(void *arg)
{
	uint64_t end = prog_clock_ns(CLOCK_MONOTONIC) + *(uint64_t *)arg * 1000;
	while (prog_clock_ns(CLOCK_MONOTONIC) < end)
		prog_work(200);
	return NULL;
}

int main(int argc, char **argv)
{
	uint64_t n = prog_arg(argc, argv, 1, 20000);
	uint64_t us = prog_arg(argc, argv, 2, 10);
	uint64_t start = prog_clock_ns(CLOCK_MONOTONIC);

	for (uint64_t i = 0; i < n; i++) {
		pthread_t thread;
		if (pthread_create(&thread, NULL, short_work, &us))
			return 1;
		pthread_join(thread, NULL);
	}
	printf("wall_ns %" PRIu64 "\n", prog_clock_ns(CLOCK_MONOTONIC) - start);
	prog_print_cpu();
	return 0;
}
