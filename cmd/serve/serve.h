#ifndef CPROF_CMD_SERVE_SERVE_H
#define CPROF_CMD_SERVE_SERVE_H

/* The state of cprof-serve; shared by serve.c (the loop), conns.c, answer.c and pages.c. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "cmd/serve/hub.h"
#include "cmd/serve/peer.h"
#include "cmd/serve/serve-address.h"
#include "cmd/serve/serve-opts.h"

struct MHD_Connection;
struct MHD_Daemon;
struct MHD_Response;

struct listener {
	int fd;
	struct serve_address address;
	struct MHD_Daemon *daemon;     /* plain or with TLS; borrowed */
};

enum conn_state {
	CONN_NEW,                      /* has sent no request yet */
	CONN_IDLE,                     /* between two requests */
	CONN_WAITING,                  /* for a recording */
	CONN_ANSWERED,                 /* a response is being sent */
};

/* A connection. */
struct conn {
	struct conn *next;
	struct serve *serve;
	int fd;                        /* libmicrohttpd's */
	bool is_tcp, is_tls;
	enum conn_state state;
	uint64_t since_ns;             /* in this state */
	struct peer peer;
	struct exchange *exchange;     /* the present request; NULL */
};

/* A request and its response. */
struct exchange {
	struct conn *conn;
	struct MHD_Connection *connection;
	struct hub_client *client;     /* NULL: it does not wait */
	struct MHD_Response *response; /* what it waited for; owned */
	unsigned status;
	bool is_gone;                  /* the client has left, or the server ends */
	bool is_text;
};

#define SERVE_STATUS_MAX 600

struct serve {
	struct serve_opts opts;
	struct hub *hub;
	int program_fd, signal_fd;
	char *token;                   /* NULL: none */
	VEC(struct listener) listeners;
	struct MHD_Daemon *plain, *tls;
	struct conn *conns;
	struct conn *accepting;        /* for the callback of the daemon */
	size_t n_conns;
	uint64_t n_by_status[SERVE_STATUS_MAX];
};

/* conns.c: a daemon for connections, with TLS if cert is not NULL; NULL: it failed. */
struct MHD_Daemon *conns_daemon(struct serve *s, const char *cert, const char *key);
void conns_accept(struct serve *s, const struct listener *l);
/* Ends connections whose time is over. */
void conns_expire(struct serve *s, uint64_t now_ns);
/* The client of a connection that waits has closed it. */
void conns_drop(struct conn *c);
void conns_set_state(struct conn *c, enum conn_state state);

/* answer.c: the answer to a request, or the beginning of its recording; an enum MHD_Result. */
int answer_request(struct exchange *x, const char *url, const char *method);
int answer_finished(struct exchange *x);

/* pages.c */
void pages_index(const struct serve *s, FILE *to);
void pages_metrics(const struct serve *s, FILE *to);

#endif
