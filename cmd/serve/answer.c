/* Checks whether a client may ask, and finds the answer. */
#include "cmd/serve/serve.h"

#include "base/cleanup.h"
#include "base/err.h"
#include "cmd/serve/request.h"
#include "cmd/serve/serve-targets.h"

#include <microhttpd.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define ARGUMENTS_MAX 16
#define RETRY_SECONDS "5"

/* ---- responses ----------------------------------------------------------------------- */

static int queue(struct exchange *x, unsigned status, struct MHD_Response *r)
{
	if (!r)
		return MHD_NO;
	MHD_add_response_header(r, "X-Content-Type-Options", "nosniff");
	MHD_add_response_header(r, "Cache-Control", "no-store");
	if (status < SERVE_STATUS_MAX)
		x->conn->serve->n_by_status[status]++;
	conns_set_state(x->conn, CONN_ANSWERED);
	int result = MHD_queue_response(x->connection, status, r);
	MHD_destroy_response(r);
	return result;
}

/* Takes text over. */
static struct MHD_Response *text_response(char *text, size_t n, const char *type)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(n, text, MHD_RESPMEM_MUST_FREE);
	if (!r)
		free(text);
	else
		MHD_add_response_header(r, "Content-Type", type);
	return r;
}

/* As cmd_fail prints it: a caret below an event is where it belongs. */
static struct MHD_Response *error_text(const struct err *e)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to)
		return NULL;
	fprintf(to, "%s\n", e->what);
	for (const char *line = e->hint; *line;) {
		size_t n_line = strcspn(line, "\n");
		fprintf(to, "  %.*s\n", (int)n_line, line);
		line += n_line + (line[n_line] == '\n');
	}
	if (fclose(to) != 0) {
		free(text);
		return NULL;
	}
	return text_response(text, n, "text/plain; charset=utf-8");
}

static struct MHD_Response *error_response(unsigned status, const struct err *e)
{
	struct MHD_Response *r = error_text(e);
	if (r && status == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(r, "Retry-After", RETRY_SECONDS);
	if (r && status == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(r, "WWW-Authenticate", "Bearer realm=\"cprof\"");
	if (r && status == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(r, "Allow", "GET, HEAD");
	return r;
}

static int refuse(struct exchange *x, unsigned status, const struct err *e)
{
	return queue(x, status, error_response(status, e));
}

/* A page that print writes. */
static int show(struct exchange *x, void (*print)(const struct serve *s, FILE *to),
		const char *type)
{
	char *text = NULL;
	size_t n = 0;
	FILE *to = open_memstream(&text, &n);
	if (!to)
		return MHD_NO;
	print(x->conn->serve, to);
	if (fclose(to) != 0) {
		free(text);
		return MHD_NO;
	}
	return queue(x, MHD_HTTP_OK, text_response(text, n, type));
}

static void release(void *body)
{
	hub_body_release(body);
}

static struct MHD_Response *body_response(struct hub_body *body, bool is_text)
{
	char number[24];
	struct MHD_Response *r = MHD_create_response_from_buffer_with_free_callback_cls(
		body->n_bytes, body->data, release, body);
	if (!r)
		return NULL;
	body->n_refs++;
	if (is_text) {
		MHD_add_response_header(r, "Content-Type", "text/plain; charset=utf-8");
		return r;
	}
	MHD_add_response_header(r, "Content-Type", "application/octet-stream");
	MHD_add_response_header(r, "Content-Disposition",
				"attachment; filename=\"profile.pb.gz\"");
	snprintf(number, sizeof(number), "%llu", (unsigned long long)body->n_samples);
	MHD_add_response_header(r, "X-Cprof-Samples", number);
	snprintf(number, sizeof(number), "%llu", (unsigned long long)body->n_lost);
	MHD_add_response_header(r, "X-Cprof-Lost", number);
	return r;
}

/* ---- recordings ---------------------------------------------------------------------- */

static void on_recorded(void *ctx, struct hub_body *body, unsigned status, const struct err *why)
{
	struct exchange *x = ctx;
	x->client = NULL;
	x->status = status;
	x->response = body ? body_response(body, x->is_text) : error_response(status, why);
	x->is_gone = !x->response;
	conns_set_state(x->conn, CONN_ANSWERED);
	MHD_resume_connection(x->connection);
}

int answer_finished(struct exchange *x)
{
	struct MHD_Response *r = x->response;
	x->response = NULL;
	return queue(x, x->status, r);
}

static int record(struct exchange *x, const struct request *r, const struct peer *p)
{
	struct serve *s = x->conn->serve;
	CLEANUP_FREE char *pids = NULL;
	struct err e = { 0 };
	int status = serve_targets_find(r, s->opts.process, p, &pids, &e);
	x->is_text = r->debug != 0;
	if (!status)
		status = hub_join(s->hub, r, pids, p, on_recorded, x, &x->client, &e);
	if (status)
		return refuse(x, (unsigned)status, &e);
	conns_set_state(x->conn, CONN_WAITING);
	MHD_suspend_connection(x->connection);
	return MHD_YES;
}

/* ---- who may ask --------------------------------------------------------------------- */

static const char *header(const struct exchange *x, const char *name)
{
	return MHD_lookup_connection_value(x->connection, MHD_HEADER_KIND, name);
}

/* A page of another site can give this server a name of its own, and then send requests that
 * browsers take for its own (DNS rebinding).  It cannot do that with numbers. */
static bool is_our_name(const struct serve *s, const char *value)
{
	char host[256], address[16];
	size_t n = strlen(value);
	const char *colon = strrchr(value, ':');
	if (colon && !strchr(colon, ']') && strspn(colon + 1, "0123456789") == strlen(colon + 1))
		n = (size_t)(colon - value);
	if (n == 0 || n >= sizeof(host))
		return false;
	snprintf(host, sizeof(host), "%.*s", (int)n, value);
	if (host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		return inet_pton(AF_INET6, host + 1, address) == 1;
	}
	if (strcasecmp(host, "localhost") == 0 || inet_pton(AF_INET, host, address) == 1)
		return true;
	for (size_t i = 0; i < s->opts.host.n; i++)
		if (strcasecmp(host, s->opts.host.v[i]) == 0)
			return true;
	return false;
}

static bool is_same_origin(const char *origin, const char *host)
{
	const char *rest = strncmp(origin, "http://", 7) == 0 ? origin + 7 :
			   strncmp(origin, "https://", 8) == 0 ? origin + 8 : NULL;
	return rest && host && strcasecmp(rest, host) == 0;
}

/* Pages of other sites must not start recordings. */
static int check_site(const struct exchange *x, struct err *e)
{
	const char *host = header(x, "Host"), *origin = header(x, "Origin");
	const char *site = header(x, "Sec-Fetch-Site");
	if (x->conn->is_tcp && (!host || !is_our_name(x->conn->serve, host))) {
		err_set(e, EPERM, "this server does not have the name '%.200s'", host ? host : "");
		err_hint(e, "use its address, or start it with --host");
		return MHD_HTTP_FORBIDDEN;
	}
	if ((origin && !is_same_origin(origin, host)) ||
	    (site && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0)) {
		err_set(e, EPERM, "pages of other sites may not ask for profiles");
		return MHD_HTTP_FORBIDDEN;
	}
	return 0;
}

/* The time does not depend on where the first difference is. */
static bool is_token(const char *given, const char *token)
{
	size_t n = strlen(token), n_given = strlen(given);
	unsigned char differs = n != n_given;
	for (size_t i = 0; i < n; i++)
		differs |= (unsigned char)(token[i] ^ given[n_given ? i % n_given : 0]);
	return !differs;
}

static int check_peer(const struct exchange *x, struct peer *ret, struct err *e)
{
	const struct serve *s = x->conn->serve;
	const char *given = header(x, "Authorization");
	*ret = x->conn->peer;
	if (!x->conn->is_tcp || !s->token)
		return peer_check(ret, e) < 0 ? MHD_HTTP_FORBIDDEN : 0;
	if (!given || strncasecmp(given, "Bearer ", 7) != 0 || !is_token(given + 7, s->token)) {
		err_set(e, EPERM, "this server needs a token");
		err_hint(e, "send it in a header: Authorization: Bearer TOKEN");
		return MHD_HTTP_UNAUTHORIZED;
	}
	*ret = (struct peer){ .is_known = true, .is_server = true, .uid = geteuid() };
	return 0;
}

/* ---- requests ------------------------------------------------------------------------ */

struct arguments {
	struct request_argument arg[ARGUMENTS_MAX];
	size_t n;
	bool are_too_many;
};

static enum MHD_Result take_argument(void *cls, enum MHD_ValueKind kind, const char *key,
				     const char *value)
{
	struct arguments *a = cls;
	a->are_too_many = a->n == ARGUMENTS_MAX;
	if (!a->are_too_many)
		a->arg[a->n++] = (struct request_argument){ key, value };
	return a->are_too_many ? MHD_NO : MHD_YES;
}

static int parse(const struct exchange *x, const char *url, struct request *ret, struct err *e)
{
	struct arguments a = { .n = 0 };
	MHD_get_connection_values(x->connection, MHD_GET_ARGUMENT_KIND, take_argument, &a);
	if (!a.are_too_many)
		return request_parse(url, a.arg, a.n, x->conn->serve->opts.window_max_ns, ret, e);
	err_usage(e, "there are more than %d parameters", ARGUMENTS_MAX);
	return MHD_HTTP_BAD_REQUEST;
}

static int answer_empty(struct exchange *x, const char *type)
{
	return queue(x, MHD_HTTP_OK, text_response(NULL, 0, type));
}

static void print_healthy(const struct serve *s, FILE *to)
{
	fputs("ok\n", to);
}

int answer_request(struct exchange *x, const char *url, const char *method)
{
	struct request r;
	struct err e = { 0 };
	struct peer p;
	bool is_head = strcmp(method, "HEAD") == 0;
	if (!is_head && strcmp(method, "GET") != 0) {
		err_set(&e, EINVAL, "the methods are GET and HEAD");
		return refuse(x, MHD_HTTP_METHOD_NOT_ALLOWED, &e);
	}
	int status = check_site(x, &e);
	if (!status)
		status = parse(x, url, &r, &e);
	if (!status && r.kind == REQUEST_HEALTHY)
		return show(x, print_healthy, "text/plain; charset=utf-8");
	/* Strangers do not learn which paths there are. */
	struct err why = { 0 };
	int refused = check_peer(x, &p, &why);
	if (refused)
		return refuse(x, (unsigned)refused, &why);
	if (status)
		return refuse(x, (unsigned)status, &e);
	if (r.kind == REQUEST_INDEX)
		return show(x, pages_index, "text/html; charset=utf-8");
	if (r.kind == REQUEST_METRICS)
		return show(x, pages_metrics, "text/plain; version=0.0.4; charset=utf-8");
	/* What a recording would be is known without it. */
	if (is_head)
		return answer_empty(x, r.debug ? "text/plain; charset=utf-8" :
				       "application/octet-stream");
	return record(x, &r, &p);
}
