/*
 * feeder SECONDS: submit() gives work to an idle worker of a pool, which has a name of Redis's, and
 * answer() a result to a thread that needs it, in turns.  At the end prints how long the two have
 * waited, as they measured it.
 */

#include "prog.h"

#include <pthread.h>

struct box {
	pthread_mutex_t mutex;
	pthread_cond_t cond;
	uint64_t n;              /* given */
	uint64_t waited_ns;
};

static struct box work = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };
static struct box result = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 };

/* A macro, so that the wait belongs to the calling function. */
#define TAKE_ALL(b) \
	for (uint64_t n = 0;; n++) { \
		uint64_t from_ns = prog_clock_ns(CLOCK_MONOTONIC); \
		pthread_mutex_lock(&(b)->mutex); \
		while ((b)->n == n) \
			pthread_cond_wait(&(b)->cond, &(b)->mutex); \
		pthread_mutex_unlock(&(b)->mutex); \
		(b)->waited_ns += prog_clock_ns(CLOCK_MONOTONIC) - from_ns; \
	}

static PROG_NOINLINE void *bioProcessBackgroundJobs(void *unused)
{
	TAKE_ALL(&work);
	return unused;
}

static PROG_NOINLINE void *get_results(void *unused)
{
	TAKE_ALL(&result);
	return unused;
}

static inline __attribute__((always_inline)) void give(struct box *b)
{
	pthread_mutex_lock(&b->mutex);
	b->n++;
	pthread_mutex_unlock(&b->mutex);
	pthread_cond_signal(&b->cond);
}

static PROG_NOINLINE void submit(void)
{
	give(&work);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void answer(void)
{
	give(&result);
	PROG_KEEP_FRAME();
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 1;
	uint64_t end_ns = prog_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	pthread_t thread;
	pthread_create(&thread, NULL, bioProcessBackgroundJobs, NULL);
	pthread_create(&thread, NULL, get_results, NULL);
	while (prog_clock_ns(CLOCK_MONOTONIC) < end_ns) {
		nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL);
		submit();
		nanosleep(&(struct timespec){ .tv_nsec = 4000000 }, NULL);
		answer();
	}
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	printf("work %.9f\nresult %.9f\n", (double)work.waited_ns / 1e9,
	       (double)result.waited_ns / 1e9);
	return 0;
}
