/*
 * The main thread ends at once; two others, left1 and left2, continue to work, and the last of them
 * ends the process.  Meanwhile /proc/PID/task/PID is a zombie, and /proc/PID/maps and /proc/PID/exe
 * are empty.
 *
 * usage: mainexits [MILLIONS_OF_STEPS per thread]
 */
#include "prog.h"

#include <pthread.h>
#include <stdatomic.h>

static uint64_t n_steps;
static atomic_int n_left = 2;

PROG_NOINLINE static void *left_work(void *arg)
{
	pthread_setname_np(pthread_self(), arg);
	prog_work(n_steps);
	if (atomic_fetch_sub(&n_left, 1) == 1) {
		prog_print_cpu();
		exit(0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static char left1[] = "left1", left2[] = "left2";
	pthread_t thread;

	n_steps = prog_arg(argc, argv, 1, 500) * 1000000;
	if (pthread_create(&thread, NULL, left_work, left1) ||
	    pthread_create(&thread, NULL, left_work, left2))
		return 1;
	pthread_exit(NULL);
}
