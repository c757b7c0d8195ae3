/*
 * waits SECONDS [switches]: threads that wait in functions of their own, and measure how long by
 * themselves.  At the end prints "NAME SECONDS COUNT CPU" for each, where CPU is the part of the
 * seconds that the thread was on a CPU.  Of a lock: only the calls that found it taken; CPU is 0.
 * With `switches` the count is how often they gave up their CPU in these calls, by the kernel's
 * account: one that is woken but finds the lock taken again does so twice.
 * One more thread never runs again.
 */

#include "prog.h"

#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static uint64_t end_ns;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void nap(long ns)
{
	struct timespec ts = { ns / 1000000000, ns % 1000000000 };
	nanosleep(&ts, NULL);
}

static PROG_NOINLINE void nap100ms(void) { nap(100000000); PROG_KEEP_FRAME(); }
static PROG_NOINLINE void nap10ms(void) { nap(10000000); PROG_KEEP_FRAME(); }
static PROG_NOINLINE void nap1ms(void) { nap(1000000); PROG_KEEP_FRAME(); }
static PROG_NOINLINE void poll5ms(void) { poll(NULL, 0, 5); PROG_KEEP_FRAME(); }
static PROG_NOINLINE void nap50us(void) { nap(50000); PROG_KEEP_FRAME(); }

static bool was_free;  /* for the last call of locked */

static PROG_NOINLINE void locked(void)
{
	was_free = pthread_mutex_trylock(&lock) == 0;
	if (!was_free)
		pthread_mutex_lock(&lock);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void hold(void)
{
	pthread_mutex_lock(&lock);
	nap(4000000);
	pthread_mutex_unlock(&lock);
	nap(100000);
}

static PROG_NOINLINE void *forever(void *unused)
{
	(void)unused;
	for (;;)
		pause();
	return NULL;
}

struct site {
	const char *name;
	void (*wait)(void);
	uint64_t ns, n, cpu_ns;
};

static struct site site[] = {
	{ .name = "nap100ms", .wait = nap100ms }, { .name = "nap10ms", .wait = nap10ms },
	{ .name = "nap1ms", .wait = nap1ms }, { .name = "poll5ms", .wait = poll5ms },
	{ .name = "nap50us", .wait = nap50us }, { .name = "locked", .wait = locked },
};
#define N_SITES (sizeof(site) / sizeof(*site))

static bool counts_switches;

/* Of this thread. */
static uint64_t n_switches(void)
{
	struct rusage u;
	return counts_switches && getrusage(RUSAGE_THREAD, &u) == 0 ? (uint64_t)u.ru_nvcsw : 0;
}

static void *wait_often(void *arg)
{
	struct site *s = arg;
	uint64_t now = prog_clock_ns(CLOCK_MONOTONIC);
	while (now < end_ns) {
		uint64_t from = now, n_before = n_switches();
		s->wait();
		now = prog_clock_ns(CLOCK_MONOTONIC);
		bool is_lock = s->wait == locked;
		if (!is_lock || !was_free) {
			s->ns += now - from;
			s->n += counts_switches ? n_switches() - n_before : 1;
		}
		if (!is_lock)
			continue;
		pthread_mutex_unlock(&lock);
		nap(200000);
		now = prog_clock_ns(CLOCK_MONOTONIC);
	}
	if (s->wait != locked)
		s->cpu_ns = prog_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return NULL;
}

static void *hold_often(void *unused)
{
	while (prog_clock_ns(CLOCK_MONOTONIC) < end_ns)
		hold();
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t thread[N_SITES + 1], sleeper;
	double seconds = argc > 1 ? atof(argv[1]) : 1;
	uint64_t start_ns = prog_clock_ns(CLOCK_MONOTONIC);
	counts_switches = argc > 2 && strcmp(argv[2], "switches") == 0;
	end_ns = start_ns + (uint64_t)(seconds * 1e9);
	pthread_create(&sleeper, NULL, forever, NULL);
	pthread_create(&thread[N_SITES], NULL, hold_often, NULL);
	for (size_t i = 0; i < N_SITES; i++)
		pthread_create(&thread[i], NULL, wait_often, &site[i]);
	for (size_t i = 0; i <= N_SITES; i++)
		pthread_join(thread[i], NULL);
	for (size_t i = 0; i < N_SITES; i++)
		printf("%s %.9f %" PRIu64 " %.9f\n", site[i].name, (double)site[i].ns / 1e9,
		       site[i].n, (double)site[i].cpu_ns / 1e9);
	return 0;
}
