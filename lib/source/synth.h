#ifndef CPROF_SOURCE_SYNTH_H
#define CPROF_SOURCE_SYNTH_H

/*
 * Records of what existed before the events did, from /proc: the maps and names of a process and
 * its threads, as PERF_RECORD_MMAP2 and COMM.
 */

#include <stdint.h>
#include <sys/types.h>

struct err;
struct host;
struct record;

/* Called with each record in turn; its pointers are valid only during the call. */
typedef void synth_sink_fn(void *ctx, const struct record *r);

/*
 * Gives a COMM for each thread, the leader first, then an MMAP2 for each executable mapping.  All
 * have time_ns and has_time = true.  A process or thread that ends meanwhile is not an error.
 *
 * Returns 0, -ESRCH if the process did not exist, or -EACCES if its maps may not be read (names are
 * given anyway).
 */
int synth_process(const struct host *h, pid_t pid, uint64_t time_ns, synth_sink_fn *sink,
		  void *ctx);

/* Gives an MMAP2 for each mapping, in order of addresses, also of those without code.  0 or
 * -errno. */
int synth_maps(const struct host *h, pid_t pid, uint64_t time_ns, synth_sink_fn *sink, void *ctx);

/* Gives the COMM of one thread, unless it has ended. */
void synth_thread(const struct host *h, pid_t pid, pid_t tid, uint64_t time_ns,
		  synth_sink_fn *sink, void *ctx);

/*
 * Lists numeric folder entries: the threads of /proc/PID/task (pid > 0) or all processes of
 * /proc (pid 0).  The caller frees *ret_ids.  Returns their number or -errno.
 */
int synth_list(const struct host *h, pid_t pid, pid_t **ret_ids);

#endif
