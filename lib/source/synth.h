#ifndef CPROF_SOURCE_SYNTH_H
#define CPROF_SOURCE_SYNTH_H

/*
 * Records made from /proc for what existed before the events did: the maps and
 * names of a process and its threads, as PERF_RECORD_MMAP2 and COMM.
 */

#include <stdint.h>
#include <sys/types.h>

struct err;
struct host;
struct record;

/* Called with each record in turn; its pointers hold during the call only. */
typedef void synth_sink_fn(void *ctx, const struct record *r);

/*
 * COMM of each thread (first the leader), then an MMAP2 for each executable mapping.
 * All carry time_ns and has_time = true.  A process or thread that vanishes meanwhile is
 * no error.  Returns 0, or -ESRCH when the process was not there at all, -EACCES when its
 * maps may not be read (names are given all the same).
 */
int synth_process(const struct host *h, pid_t pid, uint64_t time_ns, synth_sink_fn *sink,
		  void *ctx);

/*
 * Lists numeric folder entries: the threads of /proc/PID/task (pid > 0) or all processes of
 * /proc (pid 0).  The caller frees *ret_ids.  Returns their number or -errno.
 */
int synth_list(const struct host *h, pid_t pid, pid_t **ret_ids);

#endif
