#ifndef CPROF_RECORDER_ALLPROCS_H
#define CPROF_RECORDER_ALLPROCS_H

/* All processes of the machine as the target (cprof_config.all_processes). */

struct cprof_config;
struct engine;
struct err;
struct host;
struct log;

/* Are the options consistent and the CPUs online?  Chooses the scope.  -EINVAL, -ENODEV with e. */
int allprocs_check(struct cprof_config *c, const struct host *h, const struct log *log,
		   struct err *e);

/* Adds to e, which refuses the events, where more about rights is to be learned. */
void allprocs_explain(struct err *e);

/*
 * Names and maps of what lives already, to be called when the events are enabled.  What cannot be
 * read within ALLPROCS_READ_NS is read when its first sample comes, for the rings do not wait.
 */
#define ALLPROCS_READ_NS 200000000u
void allprocs_read_proc(struct engine *g, const struct host *h, const struct log *log);

#endif
