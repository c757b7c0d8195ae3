/*
 * N threads, all created before the first one starts to work; their total work is fixed.  It prints
 * their CPU time twice: by the kernel's accounts, and by a clock that runs while they have a CPU.
 * The latter includes interrupts, and time that the hypervisor took.
 *
 * usage: threads [N [MILLIONS_OF_STEPS]]
 */
#include "prog.h"

#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

static pthread_barrier_t all_alive;
static uint64_t n_steps;

PROG_NOINLINE static void *thread_work(void *arg)
{
	pthread_barrier_wait(&all_alive);
	prog_work(n_steps);
	return arg;
}

/* A counter of the time that this process and its threads have a CPU; -1: not allowed. */
static int open_clock(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK, .inherit = 1,
	};
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	int clock_fd = open_clock();
	uint64_t clock_ns = 0;
	unsigned n = (unsigned)prog_arg(argc, argv, 1, 1000);
	n_steps = prog_arg(argc, argv, 2, 1000) * 1000000 / n;
	pthread_t *threads = calloc(n, sizeof(*threads));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&all_alive, NULL, n);
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, thread_work, NULL)) {
			perror("threads: pthread_create");
			return 1;
		}
	for (unsigned i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
	if (clock_fd >= 0 && read(clock_fd, &clock_ns, sizeof(clock_ns)) == sizeof(clock_ns))
		printf("clock_ns %" PRIu64 "\n", clock_ns);
	prog_print_cpu();
	return 0;
}
