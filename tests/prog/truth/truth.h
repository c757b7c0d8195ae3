#ifndef CPROF_TESTS_PROG_TRUTH_TRUTH_H
#define CPROF_TESTS_PROG_TRUTH_TRUTH_H

/*
 * Programs that know their own call chains.  A scenario is a function that spends some 100 us in
 * known chains; main calls it until enough CPU time is used.  A chain is printed as words,
 * outermost first: the name of a function, `~` for one or more foreign functions (libc, the signal
 * trampoline), `(a b)*100` for repetition, and as last word `^f` for a function that may follow
 * any prefix.  A sample may show any prefix of a chain, followed by foreign functions.
 */

#include "../prog.h"

#include <string.h>

#if defined(__clang__)
#define TRUTH_FN __attribute__((noinline))
#else
#define TRUTH_FN __attribute__((noinline, noclone, noipa))
#endif

/* After a call: prevents that it becomes a jump. */
#define TRUTH_END() __asm__ volatile("" ::: "memory")

/* Some 50 ns, so that many samples are in prologues and epilogues. */
#define TRUTH_LEAF_STEPS 25

#define TRUTH_ROUNDS(n, call) \
	do { \
		for (int round_ = 0; round_ < (n); round_++) \
			call; \
	} while (0)

struct truth_scenario {
	const char *name;
	void (*run)(void);
	const char *chains[4];
};

static inline uint64_t truth_cpu_ms(void)
{
	return prog_clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1000000;
}

/* A macro, because main itself must make the calls: `usage: PROGRAM [SCENARIO [CPU_MS]]`.  Without
 * arguments it lists all scenarios and their chains. */
#define TRUTH_MAIN(table, argc, argv) \
	do { \
		const size_t n_ = sizeof(table) / sizeof((table)[0]); \
		truth_limit_ms = prog_arg(argc, argv, 2, 300); \
		for (size_t i_ = 0; i_ < n_; i_++) { \
			if ((argc) < 2 || strcmp((argv)[1], (table)[i_].name) == 0) \
				for (size_t j_ = 0; j_ < 4 && (table)[i_].chains[j_]; j_++) \
					printf("%s: %s\n", (table)[i_].name, \
					       (table)[i_].chains[j_]); \
		} \
		fflush(stdout); \
		for (size_t i_ = 0; i_ < n_; i_++) { \
			if ((argc) < 2 || strcmp((argv)[1], (table)[i_].name) != 0) \
				continue; \
			struct timespec ts_ = { 0, 0 }; \
			do { \
				(table)[i_].run(); \
				clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts_); \
			} while ((uint64_t)ts_.tv_sec * 1000 + (uint64_t)ts_.tv_nsec / 1000000 < \
				 truth_limit_ms); \
			return 0; \
		} \
		return (argc) < 2 ? 0 : 1; \
	} while (0)

#endif
