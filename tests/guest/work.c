/*
 * Two functions, one of which does three times as much work as the other; also in several threads
 * and in child processes.
 *
 * usage: work [MILLIONS_OF_STEPS [THREADS [CHILDREN [WAIT_MILLISECONDS [TURNS]]]]]
 *
 * STEPS are per thread and child, by default in one turn of each function.  With one turn, equally
 * spaced samples divide like the work, except for one sample at the boundary.  With many small
 * turns, samples fall at random places, so shares have a statistical error.
 */
#include "prog.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_THREADS 64

/* Two instructions both on arm64 and on x86. */
#define spin(n) \
	do { \
		for (uint64_t spin_n_ = (n); spin_n_; spin_n_--) \
			__asm__ volatile("" : "+r"(spin_n_)); \
	} while (0)

static uint64_t n_steps, turn;

PROG_NOINLINE static void work_one(uint64_t n)
{
	spin(n);
}

PROG_NOINLINE static void work_three(uint64_t n)
{
	spin(3 * n);
}

PROG_NOINLINE static void drive(void)
{
	for (uint64_t done = 0; done < n_steps; done += 4 * turn) {
		work_one(turn);
		work_three(turn);
	}
	PROG_KEEP_FRAME();
}

static void *thread_work(void *arg)
{
	drive();
	PROG_KEEP_FRAME();
	return arg;
}

int main(int argc, char **argv)
{
	uint64_t n_threads = prog_arg(argc, argv, 2, 0);
	uint64_t n_children = prog_arg(argc, argv, 3, 0);
	uint64_t wait_ms = prog_arg(argc, argv, 4, 0);
	uint64_t n_turns = prog_arg(argc, argv, 5, 1);
	pthread_t thread[MAX_THREADS];

	if (n_threads > MAX_THREADS || !n_turns)
		return 64;
	n_steps = prog_arg(argc, argv, 1, 100) * 1000000;
	turn = n_steps / n_turns / 4;
	if (wait_ms)
		usleep((useconds_t)wait_ms * 1000);
	for (uint64_t i = 0; i < n_children; i++) {
		pid_t pid = fork();
		if (pid < 0)
			return 1;
		if (pid == 0) {
			drive();
			_exit(0);
		}
	}
	for (uint64_t i = 0; i < n_threads; i++)
		if (pthread_create(&thread[i], NULL, thread_work, NULL))
			return 1;
	drive();
	for (uint64_t i = 0; i < n_threads; i++)
		pthread_join(thread[i], NULL);
	while (wait(NULL) > 0)
		;
	prog_print_cpu();
	return 0;
}
