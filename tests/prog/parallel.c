/*
 * Ten threads f1 to f10, each in its own function, do the same work: 10 % each.  This is the other
 * program of the Go project's proposal for profiles of hardware events, rewritten in C.
 *
 * usage: parallel [ROUNDS]     (120 rounds are about 3 CPU seconds)
 */
#include "progclock.h"

#include <pthread.h>

#define ROUND 1000000

#define THREAD(name) \
	PROG_NOINLINE static void *name(void *arg) \
	{ \
		pthread_setname_np(pthread_self(), #name); \
		for (uint64_t n = *(uint64_t *)arg; n; n--) \
			prog_work(ROUND); \
		return NULL; \
	}

THREAD(f1)
THREAD(f2)
THREAD(f3)
THREAD(f4)
THREAD(f5)
THREAD(f6)
THREAD(f7)
THREAD(f8)
THREAD(f9)
THREAD(f10)

int main(int argc, char **argv)
{
	int clock_fd = prog_clock_open();
	static void *(*const functions[])(void *) = {f1, f2, f3, f4, f5, f6, f7, f8, f9, f10};
	uint64_t rounds = prog_arg(argc, argv, 1, 120);
	pthread_t threads[10];

	for (int i = 0; i < 10; i++)
		if (pthread_create(&threads[i], NULL, functions[i], &rounds))
			return 1;
	for (int i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
	prog_print_clock(clock_fd);
	prog_print_cpu();
	return 0;
}
