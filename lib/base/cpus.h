#ifndef CPROF_BASE_CPUS_H
#define CPROF_BASE_CPUS_H

/* Online CPUs: their ids may have gaps, so a count is not enough. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct host;

/* Parses a list as sysfs writes it, "0-3,8,10-11".  The caller frees *ret_cpus (ascending).
 * Returns the number of CPUs, or -EINVAL. */
int cpus_parse(const char *text, int **ret_cpus);

/* Is this CPU in such a list?  True if text is NULL or cannot be parsed. */
bool cpus_contain(const char *text, int cpu);

/* The list of HOST_SYS/devices/system/cpu/online; without that file, 0 to
 * sysconf(_SC_NPROCESSORS_ONLN) - 1. */
int cpus_online(const struct host *h, int **ret_cpus, struct err *e);

/* How long the CPUs of a list (NULL: all) were busy since boot, from /proc/stat, which counts user,
 * nice, system, irq and softirq in clock ticks (10 ms).  0 or -errno. */
int cpus_busy_ns(const struct host *h, const char *list, uint64_t *ret_ns);

#endif
