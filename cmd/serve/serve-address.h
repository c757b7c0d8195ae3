#ifndef CPROF_CMD_SERVE_SERVE_ADDRESS_H
#define CPROF_CMD_SERVE_SERVE_ADDRESS_H

/* Where cprof serve listens. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <netinet/in.h>

struct err;

struct serve_address {
	bool is_unix;
	socklen_t n_bytes;
	union {
		struct sockaddr any;
		struct sockaddr_un un;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
	} at;
};

/* "unix:PATH", a path with a '/', "HOST:PORT" or "[IPV6]:PORT", where HOST is an IPv4 address or
 * localhost.  -EINVAL with e set. */
int serve_address_parse(const char *text, struct serve_address *ret, struct err *e);

/* 127.0.0.0/8 or ::1. */
bool serve_address_is_loopback(const struct serve_address *a);

/* The default: cprof.sock in $XDG_RUNTIME_DIR, or /run/cprof.sock for root.  -ENOENT with e set:
 * there is no such folder. */
int serve_address_default(struct serve_address *ret, struct err *e);

/* "unix:/run/cprof.sock", "127.0.0.1:6060". */
#define SERVE_ADDRESS_TEXT_MAX 128
const char *serve_address_text(const struct serve_address *a, char ret[SERVE_ADDRESS_TEXT_MAX]);

/* Creates the listening socket, non-blocking.  A unix socket gets the mode 0600; one that nobody
 * listens to is replaced if it is ours.  -EADDRINUSE: somebody listens there; -errno; e is set. */
int serve_address_open(const struct serve_address *a, struct err *e);

#endif
