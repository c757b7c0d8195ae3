#ifndef CPROF_TESTS_BENCH_CPUS_SPEED_H
#define CPROF_TESTS_BENCH_CPUS_SPEED_H

/*
 * A machine with many CPUs that writes samples at its speed, in a time of its own: it passes while
 * cprof's readers work, by the CPU time of the busiest one, as if each had a CPU; and to the next
 * time a ring wakes them, while they sleep.  So a small machine shows how readers and rings behave
 * on a large one.  Samples that are due while the readers work are written afterwards; those that
 * do not fit are lost.
 *
 * whole: percentage of samples with their whole stack, of all and of the second half of the time,
 * when the copies have found their sizes.
 */

struct cpus_speed {
	double seconds;        /* of the machine's time */
	double factor;         /* how much slower readers are: above 1, they lack CPU time */
	unsigned hz, mib, threads;  /* threads 0: by the load */
};

void cpus_speed_head(void);
void cpus_speed_run(const struct cpus_speed *s, unsigned n_cpus);

#endif
