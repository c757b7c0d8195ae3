/* Words of mutexes, as glibc and musl have them. */
#include "proc/lockread.h"
#include "base/host.h"
#include "tests/unit/tap.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ADDRESS 0x1000

#define WORDS(...) ((const uint32_t[LOCKREAD_WORDS]){ __VA_ARGS__ })

static uint32_t holder(uint32_t op, uint32_t value, const uint32_t word[LOCKREAD_WORDS])
{
	return lockread_holder(&(struct lockread_wait){ ADDRESS, op, value }, word);
}

static void test_calls(void)
{
	struct lockread_wait w = { 0 };
	static const uint32_t waits[] = {
		FUTEX_WAIT, FUTEX_WAIT_BITSET, FUTEX_WAIT_REQUEUE_PI, FUTEX_LOCK_PI, 13,
	};
	static const uint32_t others[] = {
		FUTEX_WAKE, FUTEX_REQUEUE, FUTEX_CMP_REQUEUE, FUTEX_WAKE_OP, FUTEX_UNLOCK_PI,
		FUTEX_TRYLOCK_PI, FUTEX_WAKE_BITSET, 14, 127,
	};
	for (size_t i = 0; i < sizeof(waits) / sizeof(*waits); i++) {
		const uint64_t arg[] = { ADDRESS, waits[i] | FUTEX_PRIVATE_FLAG |
			FUTEX_CLOCK_REALTIME, UINT64_C(0xffffffff00000002) };
		tap_ok(lockread_wait(arg, &w) && w.address == ADDRESS && w.value == 2,
		       "operation %u waits", waits[i]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		const uint64_t arg[] = { ADDRESS, others[i], 2 };
		tap_ok(!lockread_wait(arg, &w), "operation %u does not", others[i]);
	}
	tap_ok(!lockread_wait((uint64_t[]){ 0, FUTEX_WAIT, 2 }, &w), "nothing is at address 0");
}

static void test_words(void)
{
	const uint32_t private = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	tap_int(holder(private, 2, WORDS(2, 0, 77, 1, 0)), 77, "a mutex of glibc");
	tap_int(holder(private, 2, WORDS(1, 0, 77, 1, 0)), 77,
		"which was taken again before its waiters knew");
	tap_int(holder(FUTEX_WAIT, 2, WORDS(2, 3, 77, 1, 129)), 77,
		"a recursive one in shared memory");
	tap_int(holder(private, 2, WORDS(0, 0, 77, 1, 0)), 0, "nobody has it now");
	tap_int(holder(private, 2, WORDS(2, 0, 77, 0, 0)), 0, "a mutex has users");
	tap_int(holder(private, 2, WORDS(2, 0, 77, 1, 0x400)), 0, "and a kind");
	tap_int(holder(private, 1, WORDS(2, 0, 77, 1, 0)), 0,
		"conditions and semaphores wait with other values");
	tap_int(holder(FUTEX_WAIT_BITSET, 2, WORDS(2, 0, 77, 1, 0)), 0,
		"or in another way");
	tap_int(holder(FUTEX_LOCK_PI, 0, WORDS(78)), 78, "priority inheritance");
	tap_int(holder(FUTEX_LOCK_PI, 0, WORDS(78 | FUTEX_WAITERS)), 78,
		"with other waiters");
	tap_int(holder(FUTEX_LOCK_PI, 0, WORDS(FUTEX_WAITERS | FUTEX_OWNER_DIED)), 0,
		"its holder has died");
	tap_int(holder(private, 79 | FUTEX_WAITERS, WORDS(80 | FUTEX_WAITERS)), 80,
		"a robust mutex, whose next holder has it");
	tap_int(holder(private, 79 | FUTEX_WAITERS, WORDS(3)), 0, "or nobody");
}

/* Is the one that wakes the holder? */
static void test_kinds(void)
{
	const uint32_t private = FUTEX_WAIT | FUTEX_PRIVATE_FLAG;
	const struct { const char *name; struct lockread_wait w; bool is_mutex; } c[] = {
		{ "a mutex of glibc, Rust or Go", { 16, private, 2 }, true },
		{ "priority inheritance", { 16, FUTEX_LOCK_PI | FUTEX_PRIVATE_FLAG, 0 }, true },
		{ "a robust mutex", { 16, private, 79 | FUTEX_WAITERS }, true },
		{ "a condition", { 16, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG, 2 }, false },
		{ "a join", { 16, private, 4711 }, false },
		{ "a semaphore", { 16, private, 0 }, false },
	};
	for (size_t i = 0; i < sizeof(c) / sizeof(*c); i++)
		tap_ok(lockread_is_mutex(&c[i].w) == c[i].is_mutex, "%s", c[i].name);
}

/* The mutex of this C library. */
static void test_mutex(void)
{
#ifdef __GLIBC__
	struct host host;
	static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	const struct lockread_wait w = { (uint64_t)(uintptr_t)&mutex, FUTEX_WAIT, 2 };
	const struct lockread_wait nowhere = { 16, FUTEX_WAIT, 2 };
	if (host_open(&host, NULL, NULL, NULL, NULL) < 0)
		return;
	tap_int(lockread_holder_now(&host, (uint32_t)getpid(), &w), 0, "nobody has the mutex");
	pthread_mutex_lock(&mutex);
	tap_int(lockread_holder_now(&host, (uint32_t)getpid(), &w), syscall(SYS_gettid),
		"this thread has it");
	pthread_mutex_unlock(&mutex);
	tap_int(lockread_holder_now(&host, (uint32_t)getpid(), &nowhere), 0,
		"there is no such memory");
	tap_int(lockread_holder_now(&host, 999999999, &w), 0, "and no such process");
	host_close(&host);
#endif
}

int main(void)
{
	test_calls();
	test_words();
	test_kinds();
	test_mutex();
	return tap_done();
}
