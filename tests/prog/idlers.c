/*
 * idlers SECONDS: threads that only wait for work, in functions named as in real programs, and one
 * that waits for data.  The first thread is an event loop whose handler sometimes waits, too.
 */

#include "prog.h"

#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER;
static int never[2];

/* As in Redis's ae_epoll.c and ae.c. */
static PROG_NOINLINE void aeApiPoll(int epoll_fd)
{
	struct epoll_event ev;
	epoll_wait(epoll_fd, &ev, 1, 50);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void handler(void)
{
	poll(NULL, 0, 50);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void aeMain(int epoll_fd, uint64_t end_ns)
{
	while (prog_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		aeApiPoll(epoll_fd);
		handler();
	}
	PROG_KEEP_FRAME();
}

/* As in Redis's bio.c. */
static PROG_NOINLINE void *bioProcessBackgroundJobs(void *name)
{
	prctl(PR_SET_NAME, name);
	pthread_mutex_lock(&lock);
	for (;;)
		pthread_cond_wait(&work, &lock);
	return NULL;
}

static PROG_NOINLINE void *fetch(void *unused)
{
	char c;
	(void)unused;
	prctl(PR_SET_NAME, "reader");
	while (read(never[0], &c, 1) >= 0)
		PROG_KEEP_FRAME();
	return NULL;
}

int main(int argc, char **argv)
{
	static char name[2][8] = { "bio-1", "bio-2" };
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	pthread_t thread;
	if (pipe(never) < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_create(&thread, NULL, bioProcessBackgroundJobs, name[i]);
	pthread_create(&thread, NULL, fetch, NULL);
	aeMain(epoll_create1(0), prog_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9));
	return 0;
}
