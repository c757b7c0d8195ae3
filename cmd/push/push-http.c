/*
 * A transfer of libcurl's multi interface, so that signals end a wait.  Before the first byte of a
 * request libcurl calls us: that is when the state is written.  What is known about a failed one is
 * whether it began, and whether all of it was sent.
 */

#include "cmd/push/push-http.h"

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"

#include <curl/curl.h>

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define BODY_KEPT 4096u         /* of an answer */
#define BODY_READ_MAX 65536u    /* then the transfer ends */
#define TEXT_MAX 512u
#define CONNECT_MS 10000L

struct push_http {
	struct push_http_config config;
	CURLM *multi;
	CURL *easy;
	char url[2048];
	char error[CURL_ERROR_SIZE];
	/* of one request */
	struct push_answer answer;
	char body[BODY_KEPT + 1], text[TEXT_MAX], grpc_text[TEXT_MAX];
	size_t n_body, n_read;
	bool is_ended_by_begin;
};

static const char *const path_of[] = {
	[PUSH_PYROSCOPE] = "/push.v1.PusherService/Push",
	[PUSH_PARCA] = "/parca.profilestore.v1alpha1.ProfileStoreService/WriteRaw",
	[PUSH_OTLP] = "/v1development/profiles",
};
static const char *const headers_of[][4] = {
	[PUSH_PYROSCOPE] = { "Content-Type: application/proto", "Connect-Protocol-Version: 1" },
	[PUSH_PARCA] = { "Content-Type: application/grpc+proto", "TE: trailers" },
	[PUSH_OTLP] = { "Content-Type: application/x-protobuf", "Content-Encoding: gzip" },
};

/* ---- what libcurl calls -------------------------------------------------------------- */

static size_t keep_body(char *data, size_t size, size_t n, void *ctx)
{
	struct push_http *h = ctx;
	(void)size;
	size_t keep = n < BODY_KEPT - h->n_body ? n : BODY_KEPT - h->n_body;
	memcpy(h->body + h->n_body, data, keep);
	h->n_body += keep;
	h->n_read += n;
	return h->n_read > BODY_READ_MAX ? 0 : n;
}

/* The value of a header as a string without the blanks around it. */
static bool header_value(const char *line, size_t n, const char *name, char ret[TEXT_MAX])
{
	size_t n_name = strlen(name);
	if (n <= n_name || strncasecmp(line, name, n_name) != 0 || line[n_name] != ':')
		return false;
	line += n_name + 1;
	n -= n_name + 1;
	for (; n > 0 && isspace((unsigned char)*line); line++)
		n--;
	while (n > 0 && isspace((unsigned char)line[n - 1]))
		n--;
	if (n >= TEXT_MAX)
		n = TEXT_MAX - 1;
	memcpy(ret, line, n);
	ret[n] = '\0';
	return true;
}

/* Also of trailers, where gRPC has its status. */
static size_t read_header(char *line, size_t size, size_t n, void *ctx)
{
	struct push_http *h = ctx;
	char value[TEXT_MAX];
	(void)size;
	if (header_value(line, n, "retry-after", value))
		h->answer.retry_after_ns = push_answer_retry_after(value, (int64_t)time(NULL));
	else if (header_value(line, n, "grpc-status", value) && isdigit((unsigned char)*value))
		h->answer.grpc_status = (int)strtol(value, NULL, 10);
	else
		header_value(line, n, "grpc-message", h->grpc_text);
	return n;
}

static int before_request(void *ctx, char *remote, char *local, int remote_port, int local_port)
{
	struct push_http *h = ctx;
	(void)remote, (void)local, (void)remote_port, (void)local_port;
	if (!h->config.begin(h->config.ctx)) {
		h->is_ended_by_begin = true;
		return CURL_PREREQFUNC_ABORT;
	}
	h->answer.is_connected = true;
	return CURL_PREREQFUNC_OK;
}

/* ---- set-up -------------------------------------------------------------------------- */

static bool set_options(struct push_http *h)
{
	const struct push_http_config *c = &h->config;
	CURL *easy = h->easy;
	bool is_tls = strncmp(c->url, "https:", 6) == 0;
	long version = c->format != PUSH_PARCA ? CURL_HTTP_VERSION_1_1
		: is_tls ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE;
	int r = 0;
#define SET(option, value) (r |= (int)curl_easy_setopt(easy, option, value))
	SET(CURLOPT_URL, h->url);
	SET(CURLOPT_PROTOCOLS_STR, is_tls ? "https" : "http");
	SET(CURLOPT_POST, 1L);
	SET(CURLOPT_FOLLOWLOCATION, 0L);
	SET(CURLOPT_FORBID_REUSE, 1L);
	SET(CURLOPT_FRESH_CONNECT, 1L);
	SET(CURLOPT_HTTP_VERSION, version);
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS);
	SET(CURLOPT_TIMEOUT_MS, (long)(c->timeout_ns / 1000000));
	SET(CURLOPT_USERAGENT, "cprof/" CPROF_VERSION);
	SET(CURLOPT_ERRORBUFFER, h->error);
	SET(CURLOPT_WRITEFUNCTION, keep_body);
	SET(CURLOPT_WRITEDATA, h);
	SET(CURLOPT_HEADERFUNCTION, read_header);
	SET(CURLOPT_HEADERDATA, h);
	SET(CURLOPT_PREREQFUNCTION, before_request);
	SET(CURLOPT_PREREQDATA, h);
	SET(CURLOPT_SSL_VERIFYPEER, 1L);
	SET(CURLOPT_SSL_VERIFYHOST, 2L);
	SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (c->ca_file)
		SET(CURLOPT_CAINFO, c->ca_file);
#undef SET
	return r == 0;
}

struct push_http *push_http_new(const struct push_http_config *c, struct err *e)
{
	struct push_http *h = calloc(1, sizeof(*h));
	if (h && curl_global_init(CURL_GLOBAL_DEFAULT) == 0) {
		size_t n = strlen(c->url);
		while (n > 0 && c->url[n - 1] == '/')
			n--;
		h->config = *c;
		int got = snprintf(h->url, sizeof(h->url), "%.*s%s", (int)n, c->url,
				   path_of[c->format]);
		h->multi = curl_multi_init();
		h->easy = curl_easy_init();
		if (got < (int)sizeof(h->url) && h->multi && h->easy && set_options(h))
			return h;
	}
	push_http_free(h);
	err_set(e, EINVAL, "libcurl cannot send to '%s'", c->url);
	return NULL;
}

void push_http_free(struct push_http *h)
{
	if (!h)
		return;
	if (h->easy)
		curl_easy_cleanup(h->easy);
	if (h->multi)
		curl_multi_cleanup(h->multi);
	free(h);
}

/* ---- one request --------------------------------------------------------------------- */

static bool add_header(struct curl_slist **list, const char *name, const char *value)
{
	CLEANUP_FREE char *line = NULL;
	if (!value)
		return true;
	if (asprintf(&line, "%s%s", name, value) < 0)
		return false;
	struct curl_slist *more = curl_slist_append(*list, line);
	if (more)
		*list = more;
	return more != NULL;
}

static struct curl_slist *make_headers(const struct push_http *h, const char *authorization,
				       const char *tenant)
{
	struct curl_slist *list = NULL;
	bool ok = add_header(&list, "Authorization: ", authorization) &&
		  add_header(&list, "X-Scope-OrgID: ", tenant);
	for (size_t i = 0; i < 4 && headers_of[h->config.format][i]; i++)
		ok = ok && add_header(&list, "", headers_of[h->config.format][i]);
	if (ok)
		return list;
	curl_slist_free_all(list);
	return NULL;
}

/* Runs the transfer to its end, or until the descriptor has said stop and time is up. */
static CURLcode transfer(struct push_http *h)
{
	uint64_t stop_ns = 0;
	for (;;) {
		struct curl_waitfd more = {
			.fd = h->config.signal_fd, .events = CURL_WAIT_POLLIN,
		};
		int running = 0, n_messages;
		curl_multi_perform(h->multi, &running);
		CURLMsg *m = curl_multi_info_read(h->multi, &n_messages);
		if (m && m->msg == CURLMSG_DONE)
			return m->data.result;
		uint64_t now = clock_monotonic_ns();
		if (stop_ns && now >= stop_ns)
			return CURLE_ABORTED_BY_CALLBACK;
		curl_multi_poll(h->multi, &more, stop_ns ? 0 : 1, stop_ns ? 100 : 1000, NULL);
		if (more.revents && h->config.stops(h->config.ctx) && !stop_ns)
			stop_ns = clock_monotonic_ns() + h->config.stop_ns;
	}
}

static void describe(struct push_http *h, CURLcode code)
{
	struct push_answer *a = &h->answer;
	h->body[h->n_body] = '\0';
	a->body = h->body;
	a->n_body_bytes = h->n_body;
	const char *text = a->grpc_status > 0 || *h->grpc_text ? h->grpc_text
		: a->http_status ? h->body
		: h->is_ended_by_begin ? "the state cannot be written"
		: *h->error ? h->error : curl_easy_strerror(code);
	snprintf(h->text, sizeof(h->text), "%.*s", (int)sizeof(h->text) - 1, text);
	h->text[strcspn(h->text, "\r\n")] = '\0';
	a->text = h->text;
}

int push_http_send(struct push_http *h, const void *body, size_t n_bytes, const char *authorization,
		   const char *tenant, struct push_answer *ret, struct err *e)
{
	struct curl_slist *headers = make_headers(h, authorization, tenant);
	curl_off_t n_sent = 0;
	if (!headers)
		return err_errno(e, ENOMEM, "cannot send profiles");
	h->answer = (struct push_answer){ .grpc_status = -1 };
	h->n_body = h->n_read = 0;
	h->error[0] = h->grpc_text[0] = '\0';
	h->is_ended_by_begin = false;
	curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, headers);
	curl_easy_setopt(h->easy, CURLOPT_POSTFIELDS, body);
	curl_easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)n_bytes);
	if (curl_multi_add_handle(h->multi, h->easy) != CURLM_OK) {
		curl_slist_free_all(headers);
		return err_errno(e, ENOMEM, "cannot send profiles");
	}
	CURLcode code = transfer(h);
	curl_easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &h->answer.http_status);
	curl_easy_getinfo(h->easy, CURLINFO_SIZE_UPLOAD_T, &n_sent);
	curl_multi_remove_handle(h->multi, h->easy);
	curl_easy_setopt(h->easy, CURLOPT_HTTPHEADER, NULL);
	curl_slist_free_all(headers);
	h->answer.is_sent = n_sent >= (curl_off_t)n_bytes;
	h->answer.is_bad_server = code == CURLE_PEER_FAILED_VERIFICATION ||
				  code == CURLE_SSL_CACERT_BADFILE ||
				  code == CURLE_SSL_ISSUER_ERROR;
	describe(h, code);
	*ret = h->answer;
	return 0;
}
