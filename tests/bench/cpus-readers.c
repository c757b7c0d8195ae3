#include "tests/bench/cpus-readers.h"

#include "tests/tools/simcpus.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

unsigned cpus_n_readers;
static clockid_t reader_clock[CPROF_READERS_MAX];

uint64_t cpus_clock_ns(clockid_t id)
{
	struct timespec t;
	simcpus_real_clock(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* The recorder makes its threads one after the other, but they begin when they like. */
void cpus_note_reader(void *ctx, bool begins)
{
	(void)ctx;
	if (begins)
		pthread_getcpuclockid(pthread_self(), &reader_clock[__atomic_fetch_add(
			&cpus_n_readers, 1, __ATOMIC_SEQ_CST)]);
}

void cpus_read_clocks(uint64_t *ns)
{
	ns[0] = cpus_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (unsigned i = 0; i < cpus_n_readers; i++)
		ns[1 + i] = cpus_clock_ns(reader_clock[i]);
}

void cpus_check(int r, const struct cprof_error *e)
{
	if (r >= 0)
		return;
	fprintf(stderr, "cpus: %s\n", e->what);
	exit(1);
}
