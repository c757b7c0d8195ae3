#include "cmd/record/aheadthread.h"

#include "base/clock.h"
#include "cprof-names.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The first look comes after a second: a shorter recording has nothing to hide the work behind.
 * The thread shares nothing with the recorder but two flags, gets no signals, and runs when nobody
 * else wants to: what it has not done by the end is done then.
 */

#define FIRST_NS 1000000000u
#define NEXT_NS 3000000000u

static void *run(void *ctx)
{
	struct aheadthread *a = ctx;
	/* on Linux each thread has its own */
	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), 19);
	cprof_ahead_run(a->work);
	atomic_store(&a->is_done, true);
	return NULL;
}

/* Not of real time, as the thread that reads records may be. */
static bool start(struct aheadthread *a)
{
	sigset_t all, before;
	pthread_attr_t attr;
	const struct sched_param param = { 0 };
	if (pthread_attr_init(&attr))
		return false;
	pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
	pthread_attr_setschedpolicy(&attr, SCHED_OTHER);
	pthread_attr_setschedparam(&attr, &param);
	atomic_store(&a->is_done, false);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = pthread_create(&a->thread, &attr, run, a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return r == 0;
}

void aheadthread_done(struct aheadthread *a)
{
	if (!a->work)
		return;
	cprof_ahead_stop(a->work);
	pthread_join(a->thread, NULL);
	cprof_ahead_free(a->work);
	a->work = NULL;
}

void aheadthread_stop(struct aheadthread *a)
{
	if (a->work)
		cprof_ahead_stop(a->work);
}

void aheadthread_poll(struct aheadthread *a, struct cprof_recorder *r)
{
	uint64_t now_ns = clock_monotonic_ns();
	if (now_ns < a->next_ns)
		return;
	bool is_first = !a->next_ns;
	a->next_ns = now_ns + (is_first ? FIRST_NS : NEXT_NS);
	if (is_first || (a->work && !atomic_load(&a->is_done)))
		return;
	aheadthread_done(a);
	a->work = cprof_recorder_ahead(r);
	if (a->work && !start(a)) {
		cprof_ahead_free(a->work);
		a->work = NULL;
	}
}
