#ifndef CPROF_RECORDER_HUGEPAGES_H
#define CPROF_RECORDER_HUGEPAGES_H

/*
 * Transparent huge pages that page faults of any program have allocated.  A fault that allocates
 * one counts as a single page, which a profile of page faults in bytes has to admit.
 */

#include <stdint.h>

struct host;

/* How many since the machine was started: thp_fault_alloc in /proc/vmstat.  0 if the kernel does
 * not know (it was built without them). */
uint64_t hugepages_faulted(const struct host *host);

#endif
