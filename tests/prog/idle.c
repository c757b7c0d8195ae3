/*
 * idle N: N threads that wait for a condition until the process is killed, as those of an idle pool
 * do.  Prints "ready" when all of them wait.
 */

#include "prog.h"

#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
static uint64_t n_waiting;

static PROG_NOINLINE void wait_for_work(void)
{
	n_waiting++;
	pthread_cond_wait(&never, &lock);
	PROG_KEEP_FRAME();
}

static void *worker(void *unused)
{
	pthread_mutex_lock(&lock);
	for (;;)
		wait_for_work();
	return unused;
}

int main(int argc, char **argv)
{
	uint64_t n = prog_arg(argc, argv, 1, 1000), n_now = 0;
	pthread_attr_t attr;
	pthread_t t;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	for (uint64_t i = 0; i < n; i++)
		if (pthread_create(&t, &attr, worker, NULL) != 0)
			return 1;
	while (n_now < n) {
		usleep(1000);
		pthread_mutex_lock(&lock);
		n_now = n_waiting;
		pthread_mutex_unlock(&lock);
	}
	puts("ready");
	fflush(stdout);
	for (;;)
		pause();
}
