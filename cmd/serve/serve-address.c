/* Only numeric addresses: no name server can delay the start, or send a wrong answer. */
#include "cmd/serve/serve-address.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "base/units.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int set_path(const char *path, struct serve_address *ret, struct err *e)
{
	struct sockaddr_un *un = &ret->at.un;
	*ret = (struct serve_address){ .is_unix = true, .n_bytes = sizeof(*un) };
	un->sun_family = AF_UNIX;
	if (!*path || strlen(path) >= sizeof(un->sun_path))
		return err_usage(e, "the path of a unix socket has 1 to %zu characters: '%s'",
				 sizeof(un->sun_path) - 1, path);
	memcpy(un->sun_path, path, strlen(path) + 1);
	return 0;
}

static bool parse_port(const char *text, in_port_t *ret)
{
	uint64_t n;
	if (*text < '0' || *text > '9' || units_parse_u64(text, &n) < 0 || n == 0 || n > 65535)
		return false;
	*ret = htons((uint16_t)n);
	return true;
}

static bool parse_host(const char *host, bool is_v6, in_port_t port, struct serve_address *ret)
{
	*ret = (struct serve_address){ 0 };
	if (is_v6) {
		ret->at.in6.sin6_family = AF_INET6;
		ret->at.in6.sin6_port = port;
		ret->n_bytes = sizeof(ret->at.in6);
		return inet_pton(AF_INET6, host, &ret->at.in6.sin6_addr) == 1;
	}
	ret->at.in.sin_family = AF_INET;
	ret->at.in.sin_port = port;
	ret->n_bytes = sizeof(ret->at.in);
	return inet_pton(AF_INET, strcmp(host, "localhost") == 0 ? "127.0.0.1" : host,
			 &ret->at.in.sin_addr) == 1;
}

int serve_address_parse(const char *text, struct serve_address *ret, struct err *e)
{
	char host[64];
	in_port_t port;
	if (strncmp(text, "unix:", 5) == 0)
		return set_path(text + 5, ret, e);
	if (strchr(text, '/'))
		return set_path(text, ret, e);
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;
	bool is_v6 = n > 2 && text[0] == '[' && text[n - 1] == ']';
	if (is_v6) {
		text++;
		n -= 2;
	}
	if (n == 0 || n >= sizeof(host) || !parse_port(colon + 1, &port))
		goto wrong;
	snprintf(host, sizeof(host), "%.*s", (int)n, text);
	if (parse_host(host, is_v6, port, ret))
		return 0;
wrong:
	return err_usage(e, "'%s' is not an address: give a path with a '/', 127.0.0.1:PORT or "
			 "[::1]:PORT", is_v6 ? text - 1 : text);
}

bool serve_address_is_loopback(const struct serve_address *a)
{
	if (a->at.any.sa_family == AF_INET6)
		return IN6_IS_ADDR_LOOPBACK(&a->at.in6.sin6_addr);
	return a->at.any.sa_family == AF_INET && ntohl(a->at.in.sin_addr.s_addr) >> 24 == 127;
}

int serve_address_default(struct serve_address *ret, struct err *e)
{
	const char *folder = getenv("XDG_RUNTIME_DIR");
	char path[sizeof(ret->at.un.sun_path)];
	if (geteuid() == 0)
		folder = "/run";
	if (!folder || folder[0] != '/') {
		err_set(e, ENOENT, "there is no folder for the socket: XDG_RUNTIME_DIR is not set");
		err_hint(e, "name a socket in a directory that only you can write to: "
			 "-l ./cprof.sock");
		return -ENOENT;
	}
	int n = snprintf(path, sizeof(path), "%s/cprof.sock", folder);
	return set_path(n < (int)sizeof(path) ? path : "", ret, e);
}

const char *serve_address_text(const struct serve_address *a, char ret[SERVE_ADDRESS_TEXT_MAX])
{
	char host[INET6_ADDRSTRLEN] = "";
	if (a->is_unix) {
		snprintf(ret, SERVE_ADDRESS_TEXT_MAX, "unix:%.*s",
			 (int)sizeof(a->at.un.sun_path), a->at.un.sun_path);
	} else if (a->at.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &a->at.in6.sin6_addr, host, sizeof(host));
		snprintf(ret, SERVE_ADDRESS_TEXT_MAX, "[%s]:%u", host, ntohs(a->at.in6.sin6_port));
	} else {
		inet_ntop(AF_INET, &a->at.in.sin_addr, host, sizeof(host));
		snprintf(ret, SERVE_ADDRESS_TEXT_MAX, "%s:%u", host, ntohs(a->at.in.sin_port));
	}
	return ret;
}

/* ---- sockets ------------------------------------------------------------------------- */

/* Somebody who was killed leaves his socket behind. */
static int remove_stale(const struct serve_address *a, struct err *e)
{
	char text[SERVE_ADDRESS_TEXT_MAX];
	struct stat st;
	CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (lstat(a->at.un.sun_path, &st) < 0)
		return 0;
	if (!S_ISSOCK(st.st_mode) || st.st_uid != geteuid())
		return err_set(e, EEXIST, "'%s' exists, and is not a socket of ours",
			       a->at.un.sun_path);
	if (fd < 0 || connect(fd, &a->at.any, a->n_bytes) == 0 || errno != ECONNREFUSED)
		return err_set(e, EADDRINUSE, "another program listens at '%s'",
			       serve_address_text(a, text));
	return unlink(a->at.un.sun_path) == 0 ? 0 :
	       err_errno(e, errno, "cannot replace '%s'", a->at.un.sun_path);
}

static int bind_socket(int fd, const struct serve_address *a)
{
	int one = 1;
	if (!a->is_unix) {
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
		return bind(fd, &a->at.any, a->n_bytes);
	}
	/* The mode must be right before anybody can connect. */
	mode_t before = umask(0177);
	int r = bind(fd, &a->at.any, a->n_bytes);
	umask(before);
	return r;
}

int serve_address_open(const struct serve_address *a, struct err *e)
{
	char text[SERVE_ADDRESS_TEXT_MAX];
	int r = a->is_unix ? remove_stale(a, e) : 0;
	if (r < 0)
		return r;
	CLEANUP_CLOSE int fd = socket(a->at.any.sa_family,
				      SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || bind_socket(fd, a) < 0 || listen(fd, SOMAXCONN) < 0)
		return err_errno(e, errno, "cannot listen at %s", serve_address_text(a, text));
	return TAKE_FD(fd);
}
