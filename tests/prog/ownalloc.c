/*
 * An allocator of the program's own that fires the probes otel_memory:alloc(address, size, weight)
 * and otel_memory:free(address), as those of jemalloc would, and calls no malloc(3) for its blocks.
 *
 * ownalloc: prints "ready" and the addresses of its semaphores, waits for a line on stdin, and then
 *	keep      holds 10 blocks of 100000 bytes, each of which stands for 500000
 *	churn     allocates and frees 200 blocks of 5000 bytes, each of which stands for 400000
 *	moved     lets a block of 64 bytes live that another thread allocated; weight 640
 *	early     frees 3 blocks that were allocated before the line
 *	child     forks a child that frees its copies and allocates 4 blocks of its own
 * and prints "done", waits for another line, and ends.
 */
#include "prog.h"
#include "sdtnote.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

__attribute__((section(".probes"), used)) volatile unsigned short own_alloc_semaphore;
__attribute__((section(".probes"), used)) volatile unsigned short own_free_semaphore;

static char *arena;
static size_t n_used;

PROG_NOINLINE static void *own_malloc(size_t n_bytes, unsigned long weight)
{
	char *block = arena + n_used;
	n_used += n_bytes;
	if (own_alloc_semaphore)
		__asm__ volatile(SDTNOTE("otel_memory", "alloc", "own_alloc_semaphore",
					 "8@%[p] 8@%[n] 8@%[w]")
				 :: [p] "r"(block), [n] "r"(n_bytes), [w] "r"(weight));
	return block;
}

PROG_NOINLINE static void own_free(void *block)
{
	if (own_free_semaphore)
		__asm__ volatile(SDTNOTE("otel_memory", "free", "own_free_semaphore", "8@%[p]")
				 :: [p] "r"(block));
}

static void *held[16];

PROG_NOINLINE static void keep(void)
{
	for (int i = 0; i < 10; i++)
		held[i] = own_malloc(100000, 500000);
}

PROG_NOINLINE static void churn(void)
{
	for (int i = 0; i < 200; i++)
		own_free(own_malloc(5000, 400000));
}

static void *moved(void *arg)
{
	held[10] = own_malloc(64, 640);
	return arg;
}

PROG_NOINLINE static void early(void **block, int is_begin)
{
	for (int i = 0; i < 3; i++)
		if (is_begin)
			block[i] = own_malloc(1000, 1000000);
		else
			own_free(block[i]);
}

PROG_NOINLINE static void child(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		for (int i = 0; i <= 10; i++)
			own_free(held[i]);
		for (int i = 0; i < 4; i++)
			own_malloc(4096, 4096);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

int main(void)
{
	void *first[3];
	pthread_t t;
	arena = mmap(NULL, 64 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED)
		return 1;
	early(first, 1);
	printf("ready %p %p\n", (void *)&own_alloc_semaphore, (void *)&own_free_semaphore);
	fflush(stdout);
	getchar();
	keep();
	churn();
	pthread_create(&t, NULL, moved, NULL);
	pthread_join(t, NULL);
	early(first, 0);
	child();
	puts("done");
	fflush(stdout);
	getchar();
	return 0;
}
