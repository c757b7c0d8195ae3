#ifndef CPROF_CMD_SERVE_SERVE_TARGETS_H
#define CPROF_CMD_SERVE_SERVE_TARGETS_H

/* The processes that a request means. */

struct err;
struct peer;
struct request;

/*
 * *ret is a list of ids, "12,34", or "" for all processes; the caller frees it.  process: whom
 * requests without a target mean; NULL: all processes.  Whether the peer may record them is the
 * kernel's decision.  0, or the status of HTTP with e set: 404: there is no such process.
 */
int serve_targets_find(const struct request *r, const char *process, const struct peer *p,
		       char **ret, struct err *e);

#endif
