#ifndef CPROF_CMD_RECORD_TARGETUSE_H
#define CPROF_CMD_RECORD_TARGETUSE_H

/* The resources that the target uses now, according to /proc; for --trigger. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/record/trigger.h"

struct host;

struct targetuse {
	const struct host *host;       /* borrowed, as are pid and tid */
	const pid_t *pid, *tid;
	size_t n_pids, n_tids;
	pid_t command;
	bool all;                      /* all processes of the machine instead */
	uint64_t cpu_ticks, cpu_ns;    /* CPU time at the last reading and its time; 0: none yet */
	VEC(pid_t) seen;               /* the processes of one reading */
};

void targetuse_init(struct targetuse *u, const struct host *host, const pid_t *pid, size_t n_pids,
		    const pid_t *tid, size_t n_tids, pid_t command);
void targetuse_done(struct targetuse *u);

/*
 * The value of a metric:
 *  - CPU time in percent of one CPU since the last call; false at the first call
 *  - resident memory in bytes
 *  - number of threads
 * Processes, the command included, count with all their descendants.  Of a single thread only its
 * own CPU time counts, and the memory of its process.
 */
bool targetuse_read(struct targetuse *u, enum trigger_metric metric, uint64_t now_ns, double *ret);

#endif
