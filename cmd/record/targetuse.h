#ifndef CPROF_CMD_RECORD_TARGETUSE_H
#define CPROF_CMD_RECORD_TARGETUSE_H

/* What the target uses at the moment, by /proc: for --trigger. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/record/trigger.h"

struct targetuse {
	const pid_t *pid, *tid;        /* borrowed */
	size_t n_pids, n_tids;
	pid_t command;
	bool all;                      /* instead of these: all processes of the machine */
	uint64_t cpu_ticks, cpu_ns;    /* of the last look: CPU time, and when; 0: none yet */
	pid_t *seen;                   /* the processes of one look */
	size_t n_seen, cap_seen;
};

void targetuse_init(struct targetuse *u, const pid_t *pid, size_t n_pids, const pid_t *tid,
		    size_t n_tids, pid_t command);
void targetuse_done(struct targetuse *u);

/*
 * The metric's value: CPU time in percent of one CPU since the last call (false at the first),
 * resident memory in bytes, threads; of the processes and all their descendants, the command's
 * too; of single threads that are targets only their own CPU time, and their process's memory.
 */
bool targetuse_read(struct targetuse *u, enum trigger_metric metric, uint64_t now_ns, double *ret);

#endif
