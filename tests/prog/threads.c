/*
 * N threads, all created before the first one starts to work; their total work is fixed.  It prints
 * their CPU time twice: by the kernel's accounts, and by a clock (progclock.h).
 *
 * usage: threads [N [MILLIONS_OF_STEPS]]
 */
#include "progclock.h"

#include <pthread.h>

static pthread_barrier_t all_alive;
static uint64_t n_steps;

PROG_NOINLINE static void *thread_work(void *arg)
{
	pthread_barrier_wait(&all_alive);
	prog_work(n_steps);
	return arg;
}

int main(int argc, char **argv)
{
	int clock_fd = prog_clock_open();
	unsigned n = (unsigned)prog_arg(argc, argv, 1, 1000);
	n_steps = prog_arg(argc, argv, 2, 1000) * 1000000 / n;
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&all_alive, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, thread_work, NULL)) {
			perror("threads: pthread_create");
			return 1;
		}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	prog_print_clock(clock_fd);
	prog_print_cpu();
	return 0;
}
