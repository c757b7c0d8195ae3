/*
 * switches SECONDS [PER_SECOND]: two threads on one CPU that hand a futex to and fro, 25 calls
 * deep, as fast as they can or PER_SECOND times.  The first one waits in turn in quick() and,
 * because the other one is slow every second time, in slow().  Prints "quick SECONDS COUNT", "slow
 * SECONDS COUNT" by its own clock, "cpu NS COUNT", the CPU time per switch of both, and
 * "life second AT_LEAST_NS AT_MOST_NS", how long the second thread existed.
 */

#include "prog.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DEPTH 25
#define SLOW_NS 3000u

static uint32_t turn;
static bool is_over;
static uint64_t end_ns, gap_ns, second_ended_ns;
static uint64_t site_ns[2], site_n[2];

static void wait_while(uint32_t value)
{
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) == value &&
	       !__atomic_load_n(&is_over, __ATOMIC_RELAXED))
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
}

static void give(uint32_t value)
{
	__atomic_store_n(&turn, value, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static PROG_NOINLINE void quick(void) { wait_while(1); PROG_KEEP_FRAME(); }
static PROG_NOINLINE void slow(void) { wait_while(1); PROG_KEEP_FRAME(); }

static void spin_until(uint64_t time_ns)
{
	while (prog_clock_ns(CLOCK_MONOTONIC) < time_ns)
		;
}

static PROG_NOINLINE void first_at(unsigned depth)
{
	if (depth) {
		first_at(depth - 1);
		PROG_KEEP_FRAME();
		return;
	}
	uint64_t now = prog_clock_ns(CLOCK_MONOTONIC), next = now;
	for (unsigned i = 0; now < end_ns; i = !i) {
		uint64_t from = now;
		give(1);
		(i ? slow : quick)();
		now = prog_clock_ns(CLOCK_MONOTONIC);
		site_ns[i] += now - from;
		site_n[i]++;
		next += gap_ns;
		if (gap_ns && now < next) {
			spin_until(next);
			now = prog_clock_ns(CLOCK_MONOTONIC);
		}
	}
	__atomic_store_n(&is_over, true, __ATOMIC_RELAXED);
	give(1);
}

static PROG_NOINLINE void second_at(unsigned depth)
{
	if (depth) {
		second_at(depth - 1);
		PROG_KEEP_FRAME();
		return;
	}
	for (bool is_slow = false; !__atomic_load_n(&is_over, __ATOMIC_RELAXED);
	     is_slow = !is_slow) {
		wait_while(0);
		if (is_slow)
			spin_until(prog_clock_ns(CLOCK_MONOTONIC) + SLOW_NS);
		give(0);
	}
}

static void *second(void *unused)
{
	second_at(DEPTH);
	second_ended_ns = prog_clock_ns(CLOCK_MONOTONIC);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t other;
	struct rusage u;
	cpu_set_t one;
	double seconds = argc > 1 ? atof(argv[1]) : 1, rate = argc > 2 ? atof(argv[2]) : 0;
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
	gap_ns = rate > 0 ? (uint64_t)(2e9 / rate) : 0;
	end_ns = prog_clock_ns(CLOCK_MONOTONIC) + (uint64_t)(seconds * 1e9);
	uint64_t before_ns = prog_clock_ns(CLOCK_MONOTONIC);
	pthread_create(&other, NULL, second, NULL);
	uint64_t created_ns = prog_clock_ns(CLOCK_MONOTONIC);
	first_at(DEPTH);
	pthread_join(other, NULL);
	uint64_t joined_ns = prog_clock_ns(CLOCK_MONOTONIC);
	getrusage(RUSAGE_SELF, &u);
	printf("quick %.9f %" PRIu64 "\n", (double)site_ns[0] / 1e9, site_n[0]);
	printf("slow %.9f %" PRIu64 "\n", (double)site_ns[1] / 1e9, site_n[1]);
	double cpu_ns = (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
			(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3;
	printf("cpu %.1f %ld\n", cpu_ns / (double)(u.ru_nvcsw + u.ru_nivcsw),
	       u.ru_nvcsw + u.ru_nivcsw);
	printf("life second %" PRIu64 " %" PRIu64 "\n", second_ended_ns - created_ns,
	       joined_ns - before_ns);
	return 0;
}
