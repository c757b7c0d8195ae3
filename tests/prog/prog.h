#ifndef CPROF_TESTS_PROG_PROG_H
#define CPROF_TESTS_PROG_PROG_H

/*
 * Shared by the programs to be profiled: a known amount of work, and the CPU time that was really
 * used.
 */

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#ifdef __clang__
#define PROG_NOINLINE __attribute__((noinline))
#else
#define PROG_NOINLINE __attribute__((noinline, noclone, noipa))
#endif

/* n dependent steps of about 2 ns; a macro, so that they belong to the calling function. */
#define prog_work(n) \
	do { \
		uint64_t work_n_ = (n), work_x_ = 88172645463325252u; \
		while (work_n_--) { \
			work_x_ ^= work_x_ << 13; \
			work_x_ ^= work_x_ >> 7; \
			work_x_ ^= work_x_ << 17; \
			__asm__ volatile("" : "+r"(work_x_)); \
		} \
	} while (0)

/*
 * At the end of a function: prevents that the last call becomes a jump, and forces a frame pointer
 * in a leaf function, which gcc 12 omits with any option.
 */
#define PROG_KEEP_FRAME() __asm__ volatile("" ::"r"(__builtin_frame_address(0)) : "memory")

static inline uint64_t prog_clock_ns(clockid_t clock)
{
	struct timespec ts;
	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The time that the calling thread has not had a CPU; differences are meaningful. */
static inline uint64_t prog_waited_ns(void)
{
	uint64_t cpu_ns = prog_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	return prog_clock_ns(CLOCK_MONOTONIC) - cpu_ns;
}

/* CPU time of this process and of its children that were waited for. */
static inline uint64_t prog_cpu_ns(void)
{
	struct rusage ru;
	getrusage(RUSAGE_CHILDREN, &ru);
	return prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) +
	       (uint64_t)(ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000000u +
	       (uint64_t)(ru.ru_utime.tv_usec + ru.ru_stime.tv_usec) * 1000u;
}

static inline void prog_print_cpu(void)
{
	printf("cpu_ns %" PRIu64 "\n", prog_cpu_ns());
	fflush(stdout);
}

/* The i-th argument as a number, or a default. */
static inline uint64_t prog_arg(int argc, char **argv, int i, uint64_t otherwise)
{
	return i < argc ? strtoull(argv[i], NULL, 0) : otherwise;
}

#endif
