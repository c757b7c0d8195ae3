/*
 * Phases of steady work, and of threads and children that live for a fraction of a sampling period;
 * two of them at a time at most.
 *
 * usage: phases PHASE...: a letter and milliseconds, for example t500
 *   s  works
 *   i  sleeps
 *   t  creates threads
 *   f  forks
 *   x  forks and executes
 */
#include "prog.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHORT_STEPS 20000u

PROG_NOINLINE static void steady_work(void)
{
	prog_work(200000);
	PROG_KEEP_FRAME();
}

/* CPU time of short_work in all threads and children, by their own clocks. */
static uint64_t *short_ns;

PROG_NOINLINE static void short_work(void)
{
	prog_work(SHORT_STEPS);
	PROG_KEEP_FRAME();
}

static void timed_short_work(void)
{
	uint64_t start = prog_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	short_work();
	__atomic_fetch_add(short_ns, prog_clock_ns(CLOCK_THREAD_CPUTIME_ID) - start,
			   __ATOMIC_RELAXED);
}

static void *short_thread(void *ctx)
{
	timed_short_work();
	return ctx;
}

static void create_thread(void)
{
	pthread_t t;
	if (pthread_create(&t, NULL, short_thread, NULL) == 0)
		pthread_join(t, NULL);
}

static uint64_t n_execs;

static void create_child(const char *program)
{
	pid_t pid = fork();
	if (pid == 0) {
		if (program)
			execl(program, program, (char *)NULL);
		timed_short_work();
		_exit(0);
	}
	n_execs += program != NULL;
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static void run_phase(const char *self, char what, uint64_t ms)
{
	uint64_t end_ns = prog_clock_ns(CLOCK_MONOTONIC) + ms * 1000000u;
	while (prog_clock_ns(CLOCK_MONOTONIC) < end_ns)
		switch (what) {
		case 's': steady_work(); break;
		case 'i': usleep(1000); break;
		case 't': create_thread(); break;
		case 'f': create_child(NULL); break;
		case 'x': create_child(self); break;
		default: exit(2);
		}
}

int main(int argc, char **argv)
{
	struct rusage own, children;
	if (argc < 2) {
		short_work();
		return 0;
	}
	short_ns = mmap(NULL, sizeof(*short_ns), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			-1, 0);
	if (short_ns == MAP_FAILED)
		return 1;
	getrusage(RUSAGE_SELF, &own);
	long first = own.ru_minflt;
	for (int i = 1; i < argc; i++)
		run_phase(argv[0], argv[i][0], strtoull(argv[i] + 1, NULL, 10));
	getrusage(RUSAGE_SELF, &own);
	getrusage(RUSAGE_CHILDREN, &children);
	printf("faults %ld\n", own.ru_minflt + children.ru_minflt - first);
	printf("short_ns %" PRIu64 "\n", *short_ns);
	printf("execs %" PRIu64 "\n", n_execs);
	prog_print_cpu();
	return 0;
}
