#ifndef CPROF_CMD_PUSH_ANSWER_H
#define CPROF_CMD_PUSH_ANSWER_H

/* What the answer to a request means for its profiles. */

#include "cmd/push/push-format.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum push_verdict {
	PUSH_TAKEN,         /* the server has it */
	PUSH_BUSY,          /* not now: 429, 503 and the like */
	PUSH_UNREACHED,     /* no connection, or it broke before the request was complete */
	PUSH_BROKEN,        /* the server has an error of its own; after some tries, as refused */
	PUSH_DENIED,        /* 401, 403: the token is wrong */
	PUSH_WRONG_SERVER,  /* 404 and the like: nothing there takes profiles */
	PUSH_REFUSED,       /* 400, 422: never again; one of several, perhaps */
	PUSH_TOO_LARGE,     /* 413: perhaps fewer of them */
	PUSH_UNSURE,        /* the request was sent, and there is no answer */
};

struct push_answer {
	bool is_connected;        /* the request may have begun */
	bool is_sent;             /* all of it */
	bool is_bad_server;       /* TLS: the certificate is not the server's, or not trusted */
	long http_status;         /* 0: none came */
	int grpc_status;          /* -1: none came */
	uint64_t retry_after_ns;  /* 0: none came */
	const char *text;         /* of the body, the gRPC message or the failed transfer */
	const void *body;         /* the first bytes of it */
	size_t n_body_bytes;
};

enum push_verdict push_answer_verdict(const struct push_answer *a, enum push_format format);

/* How many of the profiles in a taken request the server left out (OTLP's partial success). */
uint64_t push_answer_rejected(const struct push_answer *a, enum push_format format);

/* The value of a Retry-After header: seconds, or a date of HTTP.  0: neither, or in the past.
 * At most an hour. */
uint64_t push_answer_retry_after(const char *value, int64_t now_s);

#endif
