#ifndef CPROF_CMD_SERVE_HUB_H
#define CPROF_CMD_SERVE_HUB_H

/*
 * Recordings, and the clients who wait for them.  Equal requests of one user share a recording:
 * it is cut into parts where a client's window begins or ends, and each client gets the merged
 * parts of its own window.  One thread; nothing waits.
 */

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "cmd/serve/peer.h"
#include "cmd/serve/request.h"

struct err;
struct hub;
struct hub_client;

/* A finished profile, which several clients may share. */
struct hub_body {
	unsigned n_refs;
	uint64_t n_samples, n_lost;
	size_t n_bytes;
	char *data;
};
void hub_body_release(struct hub_body *b);   /* b may be NULL */

/* Called once, unless the client leaves before.  body is borrowed: count a reference to keep it.
 * NULL: it failed, and status is that of HTTP. */
typedef void hub_done_fn(void *ctx, struct hub_body *body, unsigned status, const struct err *why);

struct hub_limits {
	uint32_t n_recordings;         /* different ones at the same time */
	uint32_t n_clients;
};

struct hub_counts {
	uint64_t n_recordings, n_clients;      /* now */
	uint64_t n_started, n_parts, n_samples, n_lost, cpu_ns;
};

/* program_fd: of the server's own program; borrowed. */
struct hub *hub_new(const struct hub_limits *limits, int program_fd);
void hub_free(struct hub *h);

/* pids: "12,34"; "" is all processes.  Returns 0, or the status of HTTP with e set. */
int hub_join(struct hub *h, const struct request *r, const char *pids, const struct peer *p,
	     hub_done_fn *done, void *ctx, struct hub_client **ret, struct err *e);

/* The client no longer waits; its recording ends if no other does. */
void hub_leave(struct hub_client *c);

/* Appends the descriptors to wait for; false: out of memory. */
struct hub_fds { VEC(struct pollfd) fd; };
bool hub_add_fds(const struct hub *h, struct hub_fds *fds);

/* Until something has to be done anyway, as in poll(2). */
int hub_timeout_ms(const struct hub *h, uint64_t now_ns);

/* Does what can be done now; calls the clients' functions. */
void hub_run(struct hub *h, uint64_t now_ns);

void hub_count(const struct hub *h, struct hub_counts *ret);

#endif
