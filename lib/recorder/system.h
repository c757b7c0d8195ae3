#ifndef CPROF_RECORDER_SYSTEM_H
#define CPROF_RECORDER_SYSTEM_H

/* All processes of the machine as the target (cprof_config.all_processes). */

struct cprof_recorder;
struct err;

/* Is the request whole in itself, are the CPUs online?  Chooses the scope.  -EINVAL with e. */
int system_check(struct cprof_recorder *r, struct err *e);

/* Adds to e, which refuses the events, where more about rights is to be learned. */
void system_explain(struct err *e);

/*
 * Names and maps of what lives already, to be called when the events are enabled.  What cannot be
 * read within SYSTEM_READ_NS is read when its first sample comes, for the rings do not wait.
 */
#define SYSTEM_READ_NS 200000000u
void system_read_proc(struct cprof_recorder *r);

#endif
