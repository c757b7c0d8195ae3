/*
 * stuckmem FILE stack|wait|labels|lock|map|exec: maps FILE over memory of its own that a profiler
 * reads, and never touches it again.  If FILE's file system does not answer, neither does this
 * memory.
 *   stack   the outer frames of a thread that runs
 *   wait    the outer frames of a thread that waits
 *   labels  where cprof-labels.h keeps the labels of threads
 *   lock    a mutex that a thread waits for
 *   map     no memory: after SIGUSR1 it stays in mmap(2), which holds the lock of its memory; for
 *           "stuckfs direct"
 *   exec    no memory: after SIGUSR1 it executes a program, and stays in the closing of the file,
 *           with the lock that is held meanwhile
 * Prints "ready".
 */
#include "cprof-labels.h"

#include "prog.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u
#define DEPTH 64u

static int fd;

/* Only whole pages: [start, end). */
static void hide(uintptr_t start, uintptr_t end)
{
	void *at = mmap((void *)start, end - start, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_FIXED, fd, 0);
	if (at == MAP_FAILED) {
		perror("stuckmem: mmap");
		_exit(1);
	}
	if (write(1, "ready\n", 6) != 6)
		_exit(1);
}

PROG_NOINLINE static void stay(bool waits)
{
	for (;;)
		if (waits)
			pause();
		else
			__asm__ volatile("" ::: "memory");
}

struct thread {
	uintptr_t end;
	bool waits;
};

/* Frames of a KiB each; the outer ones are hidden by the innermost. */
PROG_NOINLINE static void descend(const struct thread *t, unsigned depth)
{
	volatile char frame[1024];
	frame[0] = (char)depth;
	if (depth > 0) {
		descend(t, depth - 1);
	} else {
		struct thread own = *t;
		uintptr_t here = (uintptr_t)__builtin_frame_address(0);
		hide((here + PAGE) & ~(uintptr_t)(PAGE - 1), own.end);
		stay(own.waits);
	}
	frame[1] = frame[0];
}

static void *run(void *arg)
{
	descend(arg, DEPTH);
	return NULL;
}

static void hide_stack(bool waits)
{
	const size_t n = 1 << 20;
	char *stack = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* The last pages hold what the C library keeps of a thread. */
	struct thread t = { (uintptr_t)stack + n - 4 * PAGE, waits };
	pthread_attr_t attr;
	pthread_t id;
	pthread_attr_init(&attr);
	pthread_attr_setstack(&attr, stack, n);
	if (stack == MAP_FAILED || pthread_create(&id, &attr, run, &t) != 0)
		_exit(1);
	pthread_join(id, NULL);
}

static void *lock(void *mutex)
{
	pthread_mutex_lock(mutex);
	return NULL;
}

static void hide_lock(void)
{
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_mutex_t *mutex = page;
	pthread_t id;
	pthread_mutex_init(mutex, NULL);
	pthread_mutex_lock(mutex);
	if (pthread_create(&id, NULL, lock, mutex) != 0)
		_exit(1);
	sleep(1);
	hide((uintptr_t)page, (uintptr_t)page + PAGE);
	pause();
}

static sigset_t block_usr1(void)
{
	sigset_t usr1;
	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	return usr1;
}

static void stay_in_exec(const char *path)
{
	sigset_t usr1 = block_usr1();
	int signal;
	if (open(path, O_RDONLY | O_CLOEXEC) < 0 || write(1, "ready\n", 6) != 6)
		_exit(1);
	sigwait(&usr1, &signal);
	execl("/bin/sleep", "sleep", "60", NULL);
	_exit(1);
}

static void stay_in_mmap(const char *path)
{
	sigset_t usr1 = block_usr1();
	int signal;
	int cached = open(path, O_RDWR | O_CLOEXEC), direct = open(path, O_RDWR | O_CLOEXEC);
	volatile char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, cached, 0);
	if (page == MAP_FAILED)
		_exit(1);
	page[0] = 1;
	if (write(1, "ready\n", 6) != 6)
		_exit(1);
	sigwait(&usr1, &signal);
	mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, direct, 0);
	_exit(1);
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[2], "map") == 0)
		stay_in_mmap(argv[1]);
	if (argc == 3 && strcmp(argv[2], "exec") == 0)
		stay_in_exec(argv[1]);
	if (argc != 3 || (fd = open(argv[1], O_RDONLY | O_CLOEXEC)) < 0)
		return 64;
	if (strcmp(argv[2], "labels") == 0) {
		cprof_label_set("task", "work");
		uintptr_t slab = (uintptr_t)cprof_labels_registry.slab[0] & ~(uintptr_t)(PAGE - 1);
		hide(slab, slab + PAGE);
		stay(false);
	}
	if (strcmp(argv[2], "lock") == 0)
		hide_lock();
	hide_stack(strcmp(argv[2], "wait") == 0);
}
