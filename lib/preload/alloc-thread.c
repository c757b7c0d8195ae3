/*
 * A process forked by raw clone(2) passes no handler of pthread_atfork(3).  A page that is zero in
 * a forked child (MADV_WIPEONFORK, Linux 4.14) has a number of the process, which each thread
 * compares with its own.  A child of vfork(2) shares the page and the blocks of its parent, and
 * reports them as those of its parent.
 */

#include "preload/alloc-thread.h"

#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread struct alloc_thread alloc_thread __attribute__((tls_model("initial-exec")));

static struct { uint64_t number; uint32_t pid; } *process;   /* NULL: the kernel is too old */

void alloc_thread_open(void)
{
	long n_bytes = sysconf(_SC_PAGESIZE);
	void *page = (void *)syscall(SYS_mmap, NULL, n_bytes, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED && syscall(SYS_madvise, page, n_bytes, MADV_WIPEONFORK) == 0)
		process = page;
}

bool alloc_thread_is_loaded;

uint64_t alloc_thread_clock_ns(void)
{
	struct timespec now;
	if (__atomic_load_n(&alloc_thread_is_loaded, __ATOMIC_RELAXED))
		clock_gettime(CLOCK_MONOTONIC, &now);
	else
		syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static uint64_t clock_number(void)
{
	return alloc_thread_clock_ns() | 1;
}

static uint64_t number_of_process(uint32_t pid)
{
	uint64_t number = clock_number(), none = 0;
	if (!process)
		return number;
	__atomic_store_n(&process->pid, pid, __ATOMIC_RELAXED);
	return __atomic_compare_exchange_n(&process->number, &none, number, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ? number : none;
}

/* A forked child would continue the random numbers of its parent. */
static void renew(struct alloc_thread *t)
{
	t->is_inherited = t->process != 0;
	t->pid = (uint32_t)syscall(SYS_getpid);
	t->tid = (uint32_t)syscall(SYS_gettid);
	t->process = number_of_process(t->pid);
	t->random ^= clock_number() ^ (uint64_t)t->tid << 40 ^ (uintptr_t)t;
	t->stack_low = 0;
}

struct alloc_thread *alloc_thread_now(void)
{
	struct alloc_thread *t = &alloc_thread;
	uint64_t now = process ? __atomic_load_n(&process->number, __ATOMIC_ACQUIRE) : 0;
	if (!now || t->process != now)
		renew(t);
	return t;
}
