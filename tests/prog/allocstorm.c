/*
 * Allocates wherever a program may: in several threads, in their destructors at thread exit, in
 * signal handlers that interrupt other allocations, in children of fork and vfork, and before exec.
 * Everything is freed; it prints "done".
 *
 * Handlers may call malloc(3) only because this program's own is without locks: blocks come one
 * after the other from a large array, and are not used again.  It is in a library: this file, built
 * with -DALLOCATOR.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef ALLOCATOR

#define BYTES (512u << 20)

static _Alignas(16) unsigned char memory[BYTES];
static size_t used;

static void *take(size_t n)
{
	size_t at = __atomic_fetch_add(&used, (n + 31) & ~(size_t)15, __ATOMIC_RELAXED);
	if (n > BYTES || at > BYTES - n - 32) {
		errno = ENOMEM;
		return NULL;
	}
	memcpy(memory + at, &n, sizeof(n));
	return memory + at + 16;
}

void *malloc(size_t n)
{
	return take(n);
}

void *calloc(size_t n, size_t each)
{
	return take(n * each);
}

void free(void *block)
{
	(void)block;
}

void *realloc(void *block, size_t n)
{
	size_t old = 0;
	void *fresh = take(n);
	if (block)
		memcpy(&old, (unsigned char *)block - 16, sizeof(old));
	return block && fresh ? memcpy(fresh, block, old < n ? old : n) : fresh;
}

#else

#define NOINLINE __attribute__((noinline))
#define STACK_BYTES 65536u

static pthread_key_t key;
static volatile long n_signals;

NOINLINE static void use(size_t n)
{
	void *volatile block = malloc(n);
	void *volatile moved = realloc(block, 2 * n);
	free(moved);
	free(calloc(1, n));
}

static void on_signal(int number)
{
	int errnum = errno;
	use((size_t)number + 20);
	n_signals++;
	errno = errnum;
}

/* After the C library's own destructors, and several times. */
static void at_exit_of_thread(void *value)
{
	uintptr_t n = (uintptr_t)value;
	use(100);
	if (n > 1)
		pthread_setspecific(key, (void *)(n - 1));
}

static void *run_thread(void *arg)
{
	const stack_t own = { .ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES };
	sigaltstack(&own, NULL);
	pthread_setspecific(key, (void *)3);
	for (size_t i = 0; i < 8000; i++)
		use(i % 500 + 1);
	sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
	free(own.ss_sp);
	return arg;
}

static int ended_well(pid_t pid)
{
	int status;
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return 0;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int run_children(void)
{
	for (int i = 0; i < 20; i++) {
		pid_t pid = fork();
		if (pid == 0) {
			run_thread(NULL);
			_exit(0);
		}
		if (!ended_well(pid))
			return 1;
		pid = vfork();
		if (pid == 0) {
			use(200);
			execl("/bin/true", "true", (char *)NULL);
			_exit(1);
		}
		if (!ended_well(pid))
			return 1;
	}
	return 0;
}

int main(void)
{
	pthread_t thread[4];
	const struct itimerval often = { { 0, 500 }, { 0, 500 } }, never = { { 0, 0 }, { 0, 0 } };
	pthread_key_create(&key, at_exit_of_thread);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_signal,
						.sa_flags = SA_RESTART | SA_ONSTACK }, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	for (int round = 0; round < 5; round++) {
		for (int i = 0; i < 4; i++)
			if (pthread_create(&thread[i], NULL, run_thread, NULL) != 0)
				return 1;
		for (int i = 0; i < 4; i++)
			pthread_join(thread[i], NULL);
	}
	int r = run_children();
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%s, %s\n", r ? "failed" : "done",
	       n_signals > 10 ? "interrupted" : "not interrupted");
	return r;
}

#endif
