/*
 * Connections.  libmicrohttpd's own timeout starts again with each byte, so a client that sends one
 * byte a second would stay for ever: the times here are limits for a whole step.  With too many
 * connections, those go first that have sent no request for the longest time, and then those that
 * have been reading an answer for the longest time.  So neither half-open connections nor clients
 * that do not read keep anybody out.
 */
#include "cmd/serve/serve.h"

#include "base/clock.h"

#include <microhttpd.h>

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#define CONNS_MAX 256u
#define CONNS_SPARE 32u               /* above it, while closed ones are cleaned up */
#define ACCEPTS_MAX 64u               /* in one round */
#define CONN_BYTES (32u << 10)        /* for the headers of a request */
#define SEND_BYTES (64 << 10)         /* in the kernel; it would allow 4 MiB for each client */

#define REQUEST_NS (2 * UINT64_C(1000000000))
#define TLS_REQUEST_NS (10 * UINT64_C(1000000000))   /* with several round trips before it */
#define IDLE_NS (30 * UINT64_C(1000000000))
#define ANSWER_NS (120 * UINT64_C(1000000000))

void conns_set_state(struct conn *c, enum conn_state state)
{
	c->state = state;
	c->since_ns = clock_monotonic_ns();
}

static void on_connection(void *cls, struct MHD_Connection *connection, void **context,
			  enum MHD_ConnectionNotificationCode code)
{
	struct serve *s = cls;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		*context = s->accepting;
		s->accepting = NULL;
		return;
	}
	struct conn *c = *context;
	struct conn **at = &s->conns;
	while (*at && *at != c)
		at = &(*at)->next;
	if (!*at)
		return;
	*at = c->next;
	s->n_conns--;
	free(c);
}

static enum MHD_Result on_request(void *cls, struct MHD_Connection *connection, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *n_upload, void **context)
{
	struct exchange *x = *context;
	if (!x) {
		struct conn *c = MHD_get_connection_info(
			connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
		x = c ? calloc(1, sizeof(*x)) : NULL;
		if (!x)
			return MHD_NO;
		*x = (struct exchange){ .conn = c, .connection = connection };
		c->exchange = x;
		*context = x;
		return MHD_YES;
	}
	if (x->is_gone)
		return MHD_NO;
	if (*n_upload) {
		*n_upload = 0;
		return MHD_YES;
	}
	return (enum MHD_Result)(x->response ? answer_finished(x) :
				 answer_request(x, url, method));
}

static void on_completed(void *cls, struct MHD_Connection *connection, void **context,
			 enum MHD_RequestTerminationCode code)
{
	struct exchange *x = *context;
	if (!x)
		return;
	if (x->client)
		hub_leave(x->client);
	if (x->response)
		MHD_destroy_response(x->response);
	x->conn->exchange = NULL;
	conns_set_state(x->conn, CONN_IDLE);
	free(x);
	*context = NULL;
}

struct MHD_Daemon *conns_daemon(struct serve *s, const char *cert, const char *key)
{
	unsigned flags = MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_NO_LISTEN_SOCKET |
			 (cert ? MHD_USE_TLS : 0);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, (char *)cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, (char *)key },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };
	return MHD_start_daemon(flags, 0, NULL, NULL, on_request, s,
				MHD_OPTION_CONNECTION_LIMIT, CONNS_MAX + 2 * CONNS_SPARE,
				MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)CONN_BYTES,
				MHD_OPTION_NOTIFY_COMPLETED, on_completed, s,
				MHD_OPTION_NOTIFY_CONNECTION, on_connection, s,
				MHD_OPTION_ARRAY, cert ? tls : none, MHD_OPTION_END);
}

/* ---- new ones, and old ones ---------------------------------------------------------- */

static bool has_no_request(const struct conn *c)
{
	return (c->state == CONN_NEW || c->state == CONN_IDLE) && !c->exchange;
}

static bool reads_answer(const struct conn *c)
{
	return c->state == CONN_ANSWERED;
}

static struct conn *find_oldest(struct serve *s, bool (*is_asked_for)(const struct conn *c))
{
	struct conn *oldest = NULL;
	for (struct conn *c = s->conns; c; c = c->next)
		if (is_asked_for(c) && (!oldest || c->since_ns < oldest->since_ns))
			oldest = c;
	return oldest;
}

/* Closes one connection, but none that waits for a recording. */
static void make_room(struct serve *s)
{
	struct conn *c = find_oldest(s, has_no_request);
	if (!c)
		c = find_oldest(s, reads_answer);
	if (!c)
		return;
	shutdown(c->fd, SHUT_RDWR);
	if (s->plain)
		MHD_run(s->plain);
	if (s->tls)
		MHD_run(s->tls);
}

static void add(struct serve *s, const struct listener *l, int fd, struct sockaddr *address,
		socklen_t n)
{
	struct conn *c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return;
	}
	*c = (struct conn){ .serve = s, .fd = fd, .is_tcp = !l->address.is_unix,
			    .is_tls = l->daemon == s->tls, .next = s->conns };
	setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &(int){ SEND_BYTES }, sizeof(int));
	peer_find(fd, &c->peer);
	conns_set_state(c, CONN_NEW);
	s->conns = c;
	s->n_conns++;
	s->accepting = c;
	bool ok = MHD_add_connection(l->daemon, fd, address, n) == MHD_YES;
	/* If it failed after the callback, the callback has freed it. */
	if (!ok && s->accepting == c) {
		s->conns = c->next;
		s->n_conns--;
		free(c);
	}
	s->accepting = NULL;
}

void conns_accept(struct serve *s, const struct listener *l)
{
	for (unsigned i = 0; i < ACCEPTS_MAX; i++) {
		struct sockaddr_storage a = { 0 };
		socklen_t n = sizeof(a);
		int fd = accept4(l->fd, (struct sockaddr *)&a, &n, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0)
			return;
		if (s->n_conns >= CONNS_MAX)
			make_room(s);
		if (s->n_conns >= CONNS_MAX + CONNS_SPARE)
			close(fd);
		else
			add(s, l, fd, (struct sockaddr *)&a, n);
	}
}

void conns_expire(struct serve *s, uint64_t now_ns)
{
	for (struct conn *c = s->conns; c; c = c->next) {
		uint64_t limit = c->state == CONN_NEW ? c->is_tls ? TLS_REQUEST_NS : REQUEST_NS :
				 c->state == CONN_IDLE ? IDLE_NS :
				 c->state == CONN_ANSWERED ? ANSWER_NS : UINT64_MAX;
		if (now_ns - c->since_ns < limit)
			continue;
		/* The daemon sees the end of the connection, and closes it. */
		shutdown(c->fd, SHUT_RDWR);
		c->since_ns = now_ns;
	}
}

void conns_drop(struct conn *c)
{
	struct exchange *x = c->exchange;
	if (c->state != CONN_WAITING || !x)
		return;
	if (x->client)
		hub_leave(x->client);
	x->client = NULL;
	x->is_gone = true;
	conns_set_state(c, CONN_ANSWERED);
	MHD_resume_connection(x->connection);
}
