#ifndef CPROF_CMD_AGENT_WINDOW_H
#define CPROF_CMD_AGENT_WINDOW_H

/* A window of the recording, divided by service, in the spool. */

#include "cmd/agent/agent-config.h"
#include "cmd/agent/agent-fit.h"
#include "cmd/agent/spool-write.h"

struct cprof_recorder;
struct err;

struct agent_window {
	const struct agent_config *config;
	struct spool_writer *spool;
	struct agent_fit *fit;         /* of the last window; changed for the next one */
	unsigned n_cpus;
	struct cprof_recorder *recorder;   /* after a snapshot */
	const char *host;
	const char *own_exe;           /* the agent's own program has a profile of its own */
	int log_fd;                    /* see service_find() */
};

/* Writes the profiles of all services, and counts them in the spool's counters.  -errno with e set
 * if one could not be written; the others were tried. */
int agent_window_write(const struct agent_window *w, struct err *e);

#endif
