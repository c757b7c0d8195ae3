#ifndef CPROF_CMD_SERVE_SERVE_CHILD_H
#define CPROF_CMD_SERVE_SERVE_CHILD_H

/* The server's side of a recording process (serve-job.h).  Nothing here waits. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cmd/serve/serve-job.h"

struct peer;
struct request;

/* No profile is that large. */
#define SERVE_CHILD_BYTES_MAX (64u << 20)

struct serve_child {
	int control_fd, data_fd;       /* -1: ended */
	pid_t pid;
	struct serve_frame frame;      /* the one being received */
	size_t n_frame;                /* bytes of it */
	VEC(char) bytes;               /* of its profile */
	struct err why;                /* SERVE_CHILD_FAILED */
};

enum serve_child_event {
	SERVE_CHILD_NOTHING,           /* until one of the descriptors is readable */
	SERVE_CHILD_BEGAN, SERVE_CHILD_CUT,
	SERVE_CHILD_PART,              /* frame and bytes, which the caller may take */
	SERVE_CHILD_FAILED,
	SERVE_CHILD_ENDED,
};

/* program_fd: the server's own program.  pids: "12,34", "": all processes.  -errno with e set. */
int serve_child_start(struct serve_child *c, int program_fd, const struct request *r,
		      const char *pids, const struct peer *p, struct err *e);
void serve_child_command(struct serve_child *c, char command);
enum serve_child_event serve_child_next(struct serve_child *c);

/* Ends the process, and forgets it. */
void serve_child_done(struct serve_child *c);

#endif
