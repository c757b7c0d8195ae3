#ifndef CPROF_TESTS_BENCH_CPUS_LOAD_H
#define CPROF_TESTS_BENCH_CPUS_LOAD_H

/* What runs on simulated CPUs: programs that write their records into the rings of
 * tests/tools/simcpus.h. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A program's place in the recording, and its CPU. */
struct cpus_program {
	unsigned number, cpu;
	size_t at;
	size_t n_skip;          /* samples left out in the first cycle */
	bool is_sample;         /* the last record was one */
	uint64_t n_samples, n_lost;
	uint32_t state;
};

/* Programs replay this recording by tests/tools/stackcap.  Without it, samples have callchains of
 * 40 frames, of eight threads of each program. */
void cpus_load_capture(const char *path);
bool cpus_has_capture(void);

/* n programs, each with a CPU and, in the recording, another place to begin at; freed by free. */
struct cpus_program *cpus_programs(unsigned n, unsigned n_cpus);

/* Writes the next record; false: its ring is full.  Then the record is the next one again, unless
 * it drops those. */
bool cpus_put_next(struct cpus_program *c, uint64_t time_ns, bool drops);

#endif
