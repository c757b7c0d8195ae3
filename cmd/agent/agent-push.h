#ifndef CPROF_CMD_AGENT_PUSH_H
#define CPROF_CMD_AGENT_PUSH_H

/* The pusher as a child of the recorder, with the rights of another user and no others. */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct agent_config;
struct err;

struct agent_push {
	pid_t pid;                     /* 0: it does not run */
	uint64_t again_ns;             /* when it is started again; CLOCK_MONOTONIC */
	unsigned n_failures;           /* in a row */
};

/* Can it be started?  -errno with e set. */
int agent_push_check(const struct agent_config *c, struct err *e);

/* Starts it if the configuration says so and it is time.  -errno with e set. */
int agent_push_start(struct agent_push *p, const struct agent_config *c, uint64_t now_ns,
		     struct err *e);

/* The child with that id has ended, with a status of waitpid(2).  False: it was another one. */
bool agent_push_ended(struct agent_push *p, pid_t pid, uint64_t now_ns);

/* Ends it, and waits for that. */
void agent_push_stop(struct agent_push *p);

#endif
