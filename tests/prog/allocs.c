/*
 * Memory in known amounts.  allocs MODE:
 *	sites SCALE   four sites of 16 B to 3 MB, 8 GB times SCALE, all freed; prints their bytes
 *	held          blocks of each function of malloc(3), in use at the end, in MiB per function
 *	freed         the same, and all are freed: by another thread, by realloc, by children
 *	children      a forked child frees its copies and gets others
 *	peak          holds most in between: 2, 3 and 4 MiB of three functions; all are freed
 *	ages          a block of 1 MiB, two seconds later one of 2 MiB
 *	labels        two blocks at different times, with the label request=checkout in between
 *	forks N       small blocks between N forks, and in each child; prints their bytes
 *	server        leaks slowly under much churn, until it is killed
 */
#include "cprof-alloc.h"
#include "cprof-labels.h"
#include "prog.h"

#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
#define NOINLINE __attribute__((noinline))

static void *held[64];
static size_t n_held;

/* Not a tail call: the caller's frame stays. */
NOINLINE static void *keep(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
	held[n_held++] = block;
	return block;
}

/* ---- sites ---------------------------------------------------------------------------------- */

#define SITE(name, size) \
	NOINLINE static void name(void) \
	{ \
		void *volatile block = malloc(size); \
		free(block); \
	}
SITE(site_16, 16)
SITE(site_1000, 1000)
SITE(site_40000, 40000)
SITE(site_3000000, 3000000)

static void run_site(const char *name, void (*site)(void), double size, double gigabytes)
{
	long n = (long)(gigabytes * 1e9 / size);
	for (long i = 0; i < n; i++)
		site();
	printf("%s %.0f %ld\n", name, (double)n * size, n);
}

static void run_sites(double scale)
{
	run_site("site_16", site_16, 16, 0.8 * scale);
	run_site("site_1000", site_1000, 1000, 1.6 * scale);
	run_site("site_40000", site_40000, 40000, 2.4 * scale);
	run_site("site_3000000", site_3000000, 3e6, 3.2 * scale);
}

/* ---- functions ------------------------------------------------------------------------------ */

NOINLINE static void by_malloc(void) { keep(malloc(MIB)); }
NOINLINE static void by_calloc(void) { keep(calloc(2, MIB)); }
NOINLINE static void by_realloc(void) { keep(realloc(malloc(MIB), 3 * MIB)); }
NOINLINE static void by_reallocarray(void) { keep(reallocarray(NULL, 4, MIB)); }

NOINLINE static void by_aligned(void)
{
	void *block;
	if (posix_memalign(&block, 64, MIB) == 0)
		keep(block);
	keep(aligned_alloc(4096, MIB));
	keep(memalign(256, MIB));
	keep(valloc(MIB));
	keep(pvalloc(MIB));
}

/* The block stays where it was. */
NOINLINE static void by_failed_realloc(void)
{
	volatile size_t too_much = SIZE_MAX / 4;
	void *block = malloc(6 * MIB);
	void *moved = realloc(block, too_much);
	keep(moved ? moved : block);
}

static void *thread_allocates(void *arg)
{
	keep(malloc(7 * MIB));
	return arg;
}

NOINLINE static void in_thread(void *(*run)(void *))
{
	pthread_t t;
	pthread_create(&t, NULL, run, NULL);
	pthread_join(t, NULL);
}

/* An allocator of the program's own. */
NOINLINE static void *by_own_allocator(void)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS;
	void *block = mmap(NULL, 8 * MIB, PROT_READ | PROT_WRITE, flags, -1, 0);
	cprof_alloc_note(block, 8 * MIB);
	return block;
}

static void *allocate_all(void)
{
	by_malloc();
	by_calloc();
	by_realloc();
	by_reallocarray();
	by_aligned();
	by_failed_realloc();
	in_thread(thread_allocates);
	return by_own_allocator();
}

static void *thread_frees(void *arg)
{
	while (n_held)
		free(held[--n_held]);
	return arg;
}

/* Frees its copies of the parent's blocks, and holds others. */
static int child(size_t n_bytes)
{
	pid_t pid = fork();
	if (pid == 0) {
		thread_frees(NULL);
		keep(malloc(n_bytes));
		_exit(0);
	}
	int status;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : 1;
}

static int run_freed(void)
{
	void *own = allocate_all();
	int r = child(5 * MIB);
	in_thread(thread_frees);
	cprof_alloc_forget(own);
	munmap(own, 8 * MIB);
	return r;
}

static void run_peak(void)
{
	in_thread(thread_allocates);
	thread_frees(NULL);
	by_calloc();
	by_realloc();
	by_reallocarray();
	thread_frees(NULL);
	by_malloc();
	thread_frees(NULL);
}

static void wait_a_little(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 300000000 }, NULL);
}

static void run_labels(void)
{
	by_malloc();
	wait_a_little();
	cprof_label_set("request", "checkout");
	wait_a_little();
	by_calloc();
	wait_a_little();
}

/* ---- a server ------------------------------------------------------------------------------- */

NOINLINE static void handle(size_t n_bytes)
{
	void *volatile block = malloc(n_bytes);
	free(block);
}

static void handle_many(int n)
{
	for (int i = 0; i < n; i++)
		handle(100);
}

static int run_forks(int n)
{
	for (int i = 0; i < n; i++) {
		handle_many(300);
		pid_t pid = fork();
		if (pid == 0) {
			handle_many(600);
			_exit(0);
		}
		if (waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	printf("handle %ld\n", n * 900l * 100);
	return 0;
}

NOINLINE static void leak(void)
{
	void *volatile block = malloc(2000);
	(void)block;
}

static void run_server(void)
{
	for (unsigned i = 1;; i++) {
		handle(64 + i % 8192);
		if (i % 100)
			continue;
		leak();
		nanosleep(&(struct timespec){ .tv_nsec = 100000 }, NULL);
	}
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	if (strcmp(mode, "sites") == 0 && argc > 2) {
		run_sites(atof(argv[2]));
		return 0;
	}
	if (strcmp(mode, "held") == 0)
		return allocate_all() == MAP_FAILED;
	if (strcmp(mode, "freed") == 0)
		return run_freed();
	if (strcmp(mode, "children") == 0) {
		by_malloc();
		return child(5 * MIB);
	}
	if (strcmp(mode, "peak") == 0) {
		run_peak();
		return 0;
	}
	if (strcmp(mode, "ages") == 0) {
		by_malloc();
		nanosleep(&(struct timespec){ .tv_sec = 2 }, NULL);
		by_calloc();
		return 0;
	}
	if (strcmp(mode, "labels") == 0) {
		run_labels();
		return 0;
	}
	if (strcmp(mode, "forks") == 0 && argc > 2)
		return run_forks(atoi(argv[2]));
	if (strcmp(mode, "server") == 0)
		run_server();
	fputs("usage: allocs sites SCALE|forks N|held|freed|children|peak|ages|labels|server\n",
	      stderr);
	return 64;
}
