/*
 * One thread, one poll.  Each connection carries one request.  The page keeps a request for "alive"
 * open while it is shown.  When none is open for a moment, which reloading the page takes, it is
 * closed.
 *
 * Other users of the machine can connect, too, but do not know the token.  It must not be among the
 * arguments of the browser, which they could read: the browser gets a file of this user that leads
 * to the address.
 */
#include "cmd/report/pageserver.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/vec.h"
#include "cmd/report/openbrowser.h"
#include "cmd/report/pagerequest.h"
#include "cmd/signals.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#define TOKEN_BYTES 16
#define CLIENTS_MAX 32
#define REQUEST_NS UINT64_C(10000000000)   /* to send a request, and to take the next bytes */
#define CLOSED_NS UINT64_C(2000000000)     /* without an open page */
#define HEAD_MAX 512

struct client {
	int fd;                     /* -1: this place is free */
	uint64_t until_ns;          /* it must have made progress by then; 0: it may wait */
	char request[PAGEREQUEST_BYTES_MAX];
	size_t n_request;
	char head[HEAD_MAX];        /* of the answer */
	size_t n_head;
	const char *body;
	size_t n_body, n_sent;      /* n_sent: of head and body */
	bool is_answered, is_alive;
};

struct server {
	const struct pageserver_options *o;
	int fd;
	unsigned port;
	char token[2 * TOKEN_BYTES + 1];
	struct signals signals;
	struct client client[CLIENTS_MAX];
	bool was_open;
	uint64_t closed_ns;         /* since when no page is open */
	struct openbrowser browser;
};

/* ---- answers ---------------------------------------------------------------------------- */

static void answer(struct client *c, const char *status, const char *type, const void *body,
		   size_t n_bytes)
{
	/* The address has the token: it must not be passed on to other sites. */
	c->n_head = (size_t)snprintf(c->head, sizeof(c->head),
				     "HTTP/1.1 %s\r\nContent-Type: %s; charset=utf-8\r\n"
				     "Content-Length: %zu\r\nCache-Control: no-store\r\n"
				     "Referrer-Policy: no-referrer\r\n"
				     "X-Content-Type-Options: nosniff\r\n"
				     "X-Frame-Options: DENY\r\n"
				     "Cross-Origin-Opener-Policy: same-origin\r\n"
				     "Cross-Origin-Resource-Policy: same-origin\r\n"
				     "Connection: close\r\n\r\n", status, type, n_bytes);
	c->body = body;
	c->n_body = n_bytes;
	c->is_answered = true;
}

static void refuse(struct client *c, const char *status)
{
	answer(c, status, "text/plain", status, strlen(status));
}

static void close_client(struct client *c)
{
	close(c->fd);
	*c = (struct client){ .fd = -1 };
}

static void take_request(struct server *s, struct client *c)
{
	switch (pagerequest_parse(c->request, c->n_request, s->token, s->port)) {
	case PAGEREQUEST_MORE: break;
	case PAGEREQUEST_PAGE:
		answer(c, "200 OK", "text/html", s->o->page, s->o->n_page_bytes);
		openbrowser_done(&s->browser);
		break;
	case PAGEREQUEST_ALIVE:
		c->is_alive = s->was_open = true;
		c->until_ns = 0;
		break;
	case PAGEREQUEST_NONE: refuse(c, "404 Not Found"); break;
	case PAGEREQUEST_FORBIDDEN: refuse(c, "403 Forbidden"); break;
	case PAGEREQUEST_BAD: refuse(c, "400 Bad Request"); break;
	case PAGEREQUEST_METHOD: refuse(c, "405 Method Not Allowed"); break;
	}
}

/* False: the client has gone. */
static bool receive(struct server *s, struct client *c)
{
	char rest[256];
	bool takes = !c->is_alive && !c->is_answered;
	size_t room = sizeof(c->request) - c->n_request;
	ssize_t n = takes ? recv(c->fd, c->request + c->n_request, room, MSG_DONTWAIT)
			  : recv(c->fd, rest, sizeof(rest), MSG_DONTWAIT);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	if (!takes)
		return true;
	c->n_request += (size_t)n;
	take_request(s, c);
	return true;
}

/* False: all is sent, or the client has gone. */
static bool send_some(struct client *c)
{
	bool in_head = c->n_sent < c->n_head;
	const char *from = in_head ? c->head + c->n_sent : c->body + (c->n_sent - c->n_head);
	size_t n = in_head ? c->n_head - c->n_sent : c->n_head + c->n_body - c->n_sent;
	ssize_t sent = send(c->fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR;
	c->n_sent += (size_t)sent;
	c->until_ns = clock_monotonic_ns() + REQUEST_NS;
	return c->n_sent < c->n_head + c->n_body;
}

static void serve_client(struct server *s, struct client *c, short events)
{
	bool stays = !(events & (POLLERR | POLLNVAL));
	if (stays && events & (POLLIN | POLLHUP))
		stays = receive(s, c);
	if (stays && c->is_answered && events & (POLLOUT | POLLIN))
		stays = send_some(c);
	if (!stays)
		close_client(c);
}

/* ---- the loop --------------------------------------------------------------------------- */

static void accept_client(struct server *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	for (size_t i = 0; i < CLIENTS_MAX && fd >= 0; i++) {
		if (s->client[i].fd >= 0)
			continue;
		s->client[i] = (struct client){
			.fd = fd, .until_ns = clock_monotonic_ns() + REQUEST_NS,
		};
		return;
	}
	if (fd >= 0)
		close(fd);
}

/* Closes clients that do nothing.  Is the page closed?  Clients without the token do not keep it
 * open. */
static bool is_over(struct server *s, uint64_t now_ns)
{
	bool is_open = false;
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		struct client *c = &s->client[i];
		if (c->fd >= 0 && c->until_ns && now_ns >= c->until_ns)
			close_client(c);
		is_open |= c->is_alive || c->body == s->o->page;
	}
	if (is_open || !s->was_open)
		s->closed_ns = now_ns;
	return now_ns - s->closed_ns >= CLOSED_NS;
}

static size_t fill_polls(const struct server *s, struct pollfd *p, size_t *client)
{
	size_t n = 0;
	p[n++] = (struct pollfd){ .fd = s->signals.fd, .events = POLLIN };
	p[n++] = (struct pollfd){ .fd = s->fd, .events = POLLIN };
	for (size_t i = 0; i < CLIENTS_MAX; i++) {
		const struct client *c = &s->client[i];
		if (c->fd < 0)
			continue;
		client[n] = i;
		p[n++] = (struct pollfd){
			.fd = c->fd, .events = c->is_answered ? POLLOUT : POLLIN,
		};
	}
	return n;
}

static void serve(struct server *s)
{
	struct pollfd p[CLIENTS_MAX + 2];
	size_t client[CLIENTS_MAX + 2];
	bool from_terminal;
	while (!is_over(s, clock_monotonic_ns())) {
		size_t n = fill_polls(s, p, client);
		if (poll(p, n, 500) <= 0)
			continue;
		int signal = p[0].revents ? signals_next(&s->signals, &from_terminal) : 0;
		if (signal == SIGCHLD)
			openbrowser_reap(&s->browser);
		else if (signal)
			return;
		for (size_t i = 2; i < n; i++)
			if (p[i].revents)
				serve_client(s, &s->client[client[i]], p[i].revents);
		if (p[1].revents)
			accept_client(s);
	}
}

/* ---- start ------------------------------------------------------------------------------ */

static int make_token(struct server *s, struct err *e)
{
	unsigned char bytes[TOKEN_BYTES];
	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return err_errno(e, errno, "cannot make a token");
	for (size_t i = 0; i < TOKEN_BYTES; i++)
		snprintf(s->token + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

static int listen_here(struct server *s, struct err *e)
{
	struct sockaddr_in at = {
		.sin_family = AF_INET, .sin_port = htons((uint16_t)s->o->port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t n = sizeof(at);
	int on = 1;
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0)
		return err_errno(e, errno, "cannot open a socket");
	setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(s->fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(s->fd, CLIENTS_MAX) < 0 ||
	    getsockname(s->fd, (struct sockaddr *)&at, &n) < 0)
		return err_errno(e, errno, "cannot listen at 127.0.0.1:%u", s->o->port);
	s->port = ntohs(at.sin_port);
	return 0;
}

static int start(struct server *s, struct err *e)
{
	char address[128];
	int r = make_token(s, e);
	if (r == 0)
		r = listen_here(s, e);
	if (r == 0)
		r = signals_open(&s->signals, 0, e);
	if (r < 0)
		return r;
	snprintf(address, sizeof(address), "http://127.0.0.1:%u/%s/", s->port, s->token);
	fprintf(stderr, "cprof report: the page is at %s\n", address);
	const char *why_not = s->o->opens_browser ?
			      openbrowser_start(&s->browser, address, &s->signals.before) : NULL;
	if (why_not)
		fprintf(stderr, "cprof report: no browser was opened: %s\n", why_not);
	fprintf(stderr, "cprof report: closing the page, or Ctrl-C, ends this\n");
	return 0;
}

int pageserver_run(const struct pageserver_options *o, struct err *e)
{
	CLEANUP_FREE struct server *s = calloc(1, sizeof(*s));
	if (!s)
		return err_errno(e, ENOMEM, "cannot serve the page");
	*s = (struct server){ .o = o, .fd = -1, .signals.fd = -1 };
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		s->client[i].fd = -1;
	int r = start(s, e);
	if (r == 0)
		serve(s);
	for (size_t i = 0; i < CLIENTS_MAX; i++)
		if (s->client[i].fd >= 0)
			close_client(&s->client[i]);
	openbrowser_done(&s->browser);
	signals_close(&s->signals);
	if (s->fd >= 0)
		close(s->fd);
	return r;
}
