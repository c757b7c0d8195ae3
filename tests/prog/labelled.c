/*
 * labelled THREADS MS MIN_US MAX_US [fork|late]: each thread runs one task after the other for
 * MIN_US to MAX_US; each task is a function NAME with the label task=NAME.  With "fork" everything
 * happens in a forked child, which inherits the label of="parent"; with "late" labels are set only
 * after half of the time.  Prints the CPU time used.
 */
#include "cprof-labels.h"

#include "prog.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static unsigned ms, min_us, max_us;
static uint64_t begin_ns, label_ns;

static uint64_t now_ns(void)
{
	return prog_clock_ns(CLOCK_MONOTONIC);
}

#define TASK(name)                                                                            \
	PROG_NOINLINE static void labelled_##name(uint64_t until_ns)                    \
	{                                                                                     \
		while (now_ns() < until_ns)                                                   \
			__asm__ volatile("" ::: "memory");                                    \
		__asm__ volatile("" ::: "memory");                                            \
	}
TASK(parse)
TASK(plan)
TASK(read)
TASK(join)
TASK(sort)
TASK(write)

static const struct { const char *name; void (*run)(uint64_t until_ns); } tasks[] = {
	{ "parse", labelled_parse }, { "plan", labelled_plan }, { "read", labelled_read },
	{ "join", labelled_join }, { "sort", labelled_sort }, { "write", labelled_write },
};

static void *serve(void *seed)
{
	unsigned random = (unsigned)(uintptr_t)seed * 2654435761u + 1;
	uint64_t end_ns = begin_ns + ms * 1000000ull, now;
	while ((now = now_ns()) < end_ns) {
		random = random * 1664525u + 1013904223u;
		unsigned task = random >> 16 & 0xffff;
		random = random * 1664525u + 1013904223u;
		unsigned us = min_us + (random >> 8) % (max_us - min_us + 1);
		if (now < label_ns) {
			labelled_plan(now + us * 1000ull);
			continue;
		}
		task %= sizeof(tasks) / sizeof(tasks[0]);
		cprof_label_set("task", tasks[task].name);
		tasks[task].run(now + us * 1000ull);
	}
	cprof_label_set("task", NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 64;
	unsigned n = (unsigned)atoi(argv[1]);
	const char *mode = argc > 5 ? argv[5] : "";
	ms = (unsigned)atoi(argv[2]);
	min_us = (unsigned)atoi(argv[3]);
	max_us = (unsigned)atoi(argv[4]);
	begin_ns = now_ns();
	label_ns = strcmp(mode, "late") == 0 ? begin_ns + ms * 500000ull : 0;
	pthread_t *thread = calloc(n, sizeof(*thread));
	if (strcmp(mode, "fork") == 0) {
		CPROF_LABEL_SCOPE("of", "parent");
		pid_t child = fork();
		if (child > 0) {
			waitpid(child, NULL, 0);
			prog_print_cpu();
			return 0;
		}
		labelled_plan(now_ns() + 20000000);
		cprof_label_set("of", "child");
		labelled_sort(now_ns() + 20000000);
	}
	for (unsigned i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, serve, (void *)(uintptr_t)(i + 1)) != 0)
			return 1;
	for (unsigned i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	prog_print_cpu();
	return 0;
}
