/*
 * N threads that wake up in turn and work for a moment, until the process is killed: busy, but with
 * time left on each CPU for a profiler that attaches.
 *
 * usage: wakers [N [MICROSECONDS OF WORK [MILLISECONDS OF SLEEP]]]
 */
#include "tests/prog/prog.h"

#include <pthread.h>

static uint64_t n, work_us, sleep_ms;

static void sleep_us(uint64_t us)
{
	nanosleep(&(struct timespec){.tv_sec = (time_t)(us / 1000000),
				     .tv_nsec = (long)(us % 1000000) * 1000}, NULL);
}

/* arg: the number of this thread; the threads are spread over one sleep */
PROG_NOINLINE static void *wake_and_work(void *arg)
{
	sleep_us((uint64_t)(uintptr_t)arg * sleep_ms * 1000 / n);
	for (;;) {
		uint64_t end = prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) + work_us * 1000;
		while (prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
			prog_work(1000);
		sleep_us(sleep_ms * 1000);
	}
	return arg;
}

int main(int argc, char **argv)
{
	n = prog_arg(argc, argv, 1, 1000);
	work_us = prog_arg(argc, argv, 2, 400);
	sleep_ms = prog_arg(argc, argv, 3, 400);
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	for (uint64_t i = 1; i < n; i++)
		if (pthread_create(&thread, &attr, wake_and_work, (void *)(uintptr_t)i)) {
			perror("wakers: pthread_create");
			return 1;
		}
	wake_and_work(NULL);
	return 0;
}
