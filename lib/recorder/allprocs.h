#ifndef CPROF_RECORDER_ALLPROCS_H
#define CPROF_RECORDER_ALLPROCS_H

/* All processes of the machine as targets (cprof_config.all_processes). */

struct cprof_config;
struct engine;
struct err;
struct host;
struct log;

/* Are the options consistent and the CPUs online?  Chooses the scope.  -EINVAL, -ENODEV with e. */
int allprocs_check(struct cprof_config *c, const struct host *h, const struct log *log,
		   struct err *e);

/* Adds a pointer to cprof doctor to e, an error from opening the events. */
void allprocs_explain(struct err *e);

/*
 * Reads names and maps of existing processes; call it after the events are enabled.  Processes not
 * read within ALLPROCS_READ_NS are read at their first sample, because the rings do not wait.
 */
#define ALLPROCS_READ_NS 200000000u
void allprocs_read_proc(struct engine *g, const struct host *h, const struct log *log);

#endif
