/*
 * A thousand threads per second start and end while four threads, steady1 to steady4, work all the
 * time.  A profiler that attaches must find these four.
 *
 * usage: churn [SECONDS]
 */
#include "prog.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

static atomic_bool stop;

#define STEADY(name) \
	PROG_NOINLINE static void *name(void *arg) \
	{ \
		pthread_setname_np(pthread_self(), #name); \
		while (!atomic_load(&stop)) \
			prog_work(100000); \
		return arg; \
	}

STEADY(steady1)
STEADY(steady2)
STEADY(steady3)
STEADY(steady4)

PROG_NOINLINE static void *mayfly(void *arg)
{
	prog_work(5000);
	return arg;
}

int main(int argc, char **argv)
{
	static void *(*const functions[])(void *) = {steady1, steady2, steady3, steady4};
	uint64_t end = prog_clock_ns(CLOCK_MONOTONIC) + prog_arg(argc, argv, 1, 5) * 1000000000u;
	pthread_t steady[4], short_lived;
	uint64_t n_born = 0;

	for (int i = 0; i < 4; i++)
		if (pthread_create(&steady[i], NULL, functions[i], NULL))
			return 1;
	puts("ready");
	fflush(stdout);

	uint64_t start = prog_clock_ns(CLOCK_MONOTONIC);
	for (uint64_t now = start; now < end; now = prog_clock_ns(CLOCK_MONOTONIC)) {
		/* catch up if the scheduler kept this thread waiting */
		for (uint64_t due = (now - start) / 1000000; n_born < due; n_born++) {
			if (pthread_create(&short_lived, NULL, mayfly, NULL))
				return 1;
			pthread_detach(short_lived);
		}
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	}
	atomic_store(&stop, true);
	for (int i = 0; i < 4; i++)
		pthread_join(steady[i], NULL);
	printf("born %" PRIu64 "\n", n_born);
	prog_print_cpu();
	return 0;
}
