#ifndef CPROF_RECORDER_ALLPROCS_H
#define CPROF_RECORDER_ALLPROCS_H

/* All processes of the machine as the target (cprof_config.all_processes). */

struct cprof_recorder;
struct err;

/* Is the request whole in itself, are the CPUs online?  Chooses the scope.  -EINVAL with e. */
int allprocs_check(struct cprof_recorder *r, struct err *e);

/* Adds to e, which refuses the events, where more about rights is to be learned. */
void allprocs_explain(struct err *e);

/*
 * Names and maps of what lives already, to be called when the events are enabled.  What cannot be
 * read within ALLPROCS_READ_NS is read when its first sample comes, for the rings do not wait.
 */
#define ALLPROCS_READ_NS 200000000u
void allprocs_read_proc(struct cprof_recorder *r);

#endif
