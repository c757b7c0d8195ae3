#ifndef CPROF_SNAPSHOT_IDLECPUS_H
#define CPROF_SNAPSHOT_IDLECPUS_H

/* Are CPUs idle at this moment? */

struct host;

/*
 * How many threads of the machine run or could run, this one included, as /proc/loadavg shows it.
 * Threads of the kernel run for some microseconds now and then, so that the smallest of a few
 * numbers counts, with pauses between them, or the first one that is not above `enough`.
 * 0: unknown.
 */
unsigned idlecpus_runnable(const struct host *h, unsigned enough, unsigned pause_us);

#endif
