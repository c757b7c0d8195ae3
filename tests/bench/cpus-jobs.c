#include "tests/bench/cpus-jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define JOBS_MAX 64u

static struct {
	pthread_barrier_t barrier;
	uint64_t value[JOBS_MAX];
} *shared;
static unsigned n_jobs = 1, job;

bool cpus_jobs_begin(unsigned n)
{
	n_jobs = n < 1 ? 1 : n > JOBS_MAX ? JOBS_MAX : n;
	if (n_jobs == 1)
		return true;
	pthread_barrierattr_t attr;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || pthread_barrierattr_init(&attr) ||
	    pthread_barrierattr_setpshared(&attr, PTHREAD_PROCESS_SHARED) ||
	    pthread_barrier_init(&shared->barrier, &attr, n_jobs)) {
		perror("cpus");
		exit(1);
	}
	for (unsigned i = 1; i < n_jobs; i++) {
		if (fork() != 0)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		job = i;
		break;
	}
	return job == 0;
}

bool cpus_jobs_is_first(void)
{
	return job == 0;
}

void cpus_jobs_meet(void)
{
	if (n_jobs > 1)
		pthread_barrier_wait(&shared->barrier);
}

static void exchange(uint64_t value)
{
	shared->value[job] = value;
	cpus_jobs_meet();
}

uint64_t cpus_jobs_longest(uint64_t ns)
{
	if (n_jobs == 1)
		return ns;
	exchange(ns);
	uint64_t longest = 0;
	for (unsigned i = 0; i < n_jobs; i++)
		longest = shared->value[i] > longest ? shared->value[i] : longest;
	cpus_jobs_meet();
	return longest;
}

uint64_t cpus_jobs_sum(uint64_t n)
{
	if (n_jobs == 1)
		return n;
	exchange(n);
	uint64_t sum = 0;
	for (unsigned i = 0; i < n_jobs; i++)
		sum += shared->value[i];
	cpus_jobs_meet();
	return sum;
}

int cpus_jobs_end(void)
{
	int status = 0;
	if (job == 0)
		while (wait(&status) > 0 && status == 0)
			;
	return status != 0;
}
