/*
 * lockers ROUNDS [MS]: a thread waits ROUNDS times for each of some mutexes, which another one
 * holds for MS ms (default 6) from the moment at which it is seen waiting.  At the end prints "NAME
 * SECONDS COUNT" for each of them, as the waiting thread has measured it.  First prints the id of
 * the thread that holds them, and the address of the mutex in the heap.
 */

#include "prog.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct { uint64_t n; pthread_mutex_t mutex; } table = { 0, PTHREAD_MUTEX_INITIALIZER };
static pthread_mutex_t inherit_lock, robust_lock;

struct site {
	const char *name;
	void (*contend)(pthread_mutex_t *m);
	pthread_mutex_t *mutex;
	uint64_t ns, n;
};

static PROG_NOINLINE void contend_table(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void contend_heap(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void contend_inherit(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void contend_robust(pthread_mutex_t *m)
{
	pthread_mutex_lock(m);
	PROG_KEEP_FRAME();
}

static PROG_NOINLINE void release(pthread_mutex_t *m)
{
	pthread_mutex_unlock(m);
	PROG_KEEP_FRAME();
}

static struct site site[] = {
	{ .name = "contend_table", .contend = contend_table, .mutex = &table.mutex },
	{ .name = "contend_heap", .contend = contend_heap },
	{ .name = "contend_inherit", .contend = contend_inherit, .mutex = &inherit_lock },
	{ .name = "contend_robust", .contend = contend_robust, .mutex = &robust_lock },
};
#define N_SITES (sizeof(site) / sizeof(*site))

static int begin[2], done[2];
static long waiter_tid;

static void give(int fd)
{
	if (write(fd, "x", 1) != 1)
		abort();
}

static void take(int fd)
{
	char c;
	if (read(fd, &c, 1) != 1)
		abort();
}

static void *wait_for_locks(void *rounds)
{
	pthread_setname_np(pthread_self(), "waiter");
	__atomic_store_n(&waiter_tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	for (size_t i = 0; i < *(size_t *)rounds * N_SITES; i++) {
		struct site *s = &site[i % N_SITES];
		take(begin[0]);
		uint64_t from_ns = prog_waited_ns();
		s->contend(s->mutex);
		s->ns += prog_waited_ns() - from_ns;
		s->n++;
		pthread_mutex_unlock(s->mutex);
		give(done[1]);
	}
	return NULL;
}

/* Is the other thread blocked in futex(2)? */
static int is_waiting(void)
{
	char path[64], text[32] = "";
	snprintf(path, sizeof(path), "/proc/self/task/%ld/syscall",
		 __atomic_load_n(&waiter_tid, __ATOMIC_ACQUIRE));
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	return n > 0 && strtol(text, NULL, 10) == SYS_futex && text[0] != 'r';
}

static void nap(long ns)
{
	nanosleep(&(struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 },
		  NULL);
}

static void make_mutexes(void)
{
	pthread_mutexattr_t a;
	site[1].mutex = calloc(1, sizeof(pthread_mutex_t));
	if (!site[1].mutex)
		abort();
	pthread_mutex_init(site[1].mutex, NULL);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, PTHREAD_PRIO_INHERIT);
	pthread_mutex_init(&inherit_lock, &a);
	pthread_mutexattr_destroy(&a);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust_lock, &a);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 10;
	long hold_ns = (argc > 2 ? atol(argv[2]) : 6) * 1000000;
	pthread_t thread;
	make_mutexes();
	if (pipe(begin) || pipe(done))
		return 1;
	pthread_setname_np(pthread_self(), "holder");
	printf("holder %ld\nheap %p\n", (long)syscall(SYS_gettid), (void *)site[1].mutex);
	fflush(stdout);
	pthread_create(&thread, NULL, wait_for_locks, &rounds);
	for (size_t i = 0; i < rounds * N_SITES; i++) {
		pthread_mutex_t *m = site[i % N_SITES].mutex;
		pthread_mutex_lock(m);
		give(begin[1]);
		while (!is_waiting())
			nap(100000);
		nap(hold_ns);
		release(m);
		take(done[0]);
	}
	pthread_join(thread, NULL);
	for (size_t i = 0; i < N_SITES; i++)
		printf("%s %.9f %" PRIu64 "\n", site[i].name, (double)site[i].ns / 1e9, site[i].n);
	return 0;
}
