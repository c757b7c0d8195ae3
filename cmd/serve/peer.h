#ifndef CPROF_CMD_SERVE_PEER_H
#define CPROF_CMD_SERVE_PEER_H

/* The user at the other end of a connection, and what this user may record. */

#include <stdbool.h>
#include <sys/types.h>

struct err;

#define PEER_GROUPS_MAX 64

struct peer {
	bool is_known;
	bool is_server;                /* records with the server's own rights */
	uid_t uid;
	gid_t gid;
	gid_t group[PEER_GROUPS_MAX];
	size_t n_groups;
};

/* Of a unix socket: SO_PEERCRED and SO_PEERGROUPS, as they were at connect(2).  Of a TCP connection
 * over loopback: the user of the other socket, from the kernel's table of sockets (sock_diag(7)).
 * Otherwise, and where the kernel does not know: unknown. */
void peer_find(int fd, struct peer *ret);

/* Root and the server's user record with the server's rights.  A server that runs as root records
 * for others with their rights: the kernel decides.  -EPERM with e set. */
int peer_check(const struct peer *p, struct err *e);

/* In a process that is about to record: takes on the rights of the peer.  0 or -errno. */
int peer_become(const struct peer *p);

/* May these two share a recording? */
bool peer_is_equal(const struct peer *a, const struct peer *b);

#endif
