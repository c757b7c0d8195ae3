#ifndef CPROF_CMD_PUSH_HTTP_H
#define CPROF_CMD_PUSH_HTTP_H

/* One request at a time by libcurl, each on a connection of its own: libcurl repeats a request
 * itself when a kept connection turns out to be closed, and profiles must not be sent twice. */

#include "cmd/push/push-answer.h"

#include <stddef.h>
#include <stdint.h>

struct err;
struct push_http;

struct push_http_config {
	enum push_format format;
	const char *url;            /* without the path of the format */
	const char *ca_file;        /* NULL: the system's */
	uint64_t timeout_ns;
	/* Called when a connection stands, before the first byte of the request.  False: do not
	 * send it. */
	bool (*begin)(void *ctx);
	void *ctx;
	/* When signal_fd becomes readable: is this to end?  An answer may take stop_ns more. */
	int signal_fd;
	bool (*stops)(void *ctx);
	uint64_t stop_ns;
};

/* NULL with e set. */
struct push_http *push_http_new(const struct push_http_config *c, struct err *e);
void push_http_free(struct push_http *h);

/*
 * Sends a body and waits for the answer, whose texts are valid until the next call.
 * authorization: the value of that header, and tenant that of X-Scope-OrgID, or NULL.
 * 0; -ENOMEM if nothing was sent because memory is out.
 */
int push_http_send(struct push_http *h, const void *body, size_t n_bytes, const char *authorization,
		   const char *tenant, struct push_answer *ret, struct err *e);

#endif
