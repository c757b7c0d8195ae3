#include "cmd/push/push-answer.h"

#include "base/clock.h"
#include "base/units.h"
#include "proto/wire.h"

#include <string.h>
#include <time.h>

#define RETRY_AFTER_MAX_S 3600

/* Codes of gRPC (grpc.io, "Status codes and their use"). */
enum {
	GRPC_OK = 0, GRPC_CANCELLED = 1, GRPC_UNKNOWN = 2, GRPC_DEADLINE = 4, GRPC_NOT_FOUND = 5,
	GRPC_PERMISSION = 7, GRPC_EXHAUSTED = 8, GRPC_ABORTED = 10, GRPC_UNIMPLEMENTED = 12,
	GRPC_INTERNAL = 13, GRPC_UNAVAILABLE = 14, GRPC_DATA_LOSS = 15, GRPC_UNAUTHENTICATED = 16,
};

static enum push_verdict by_grpc(const struct push_answer *a)
{
	switch (a->grpc_status) {
	case GRPC_OK: return PUSH_TAKEN;
	/* Servers in Go say so of a message beyond their limit. */
	case GRPC_EXHAUSTED:
		return strstr(a->text, "larger than max") ? PUSH_TOO_LARGE : PUSH_BUSY;
	case GRPC_CANCELLED: case GRPC_ABORTED: case GRPC_UNAVAILABLE: return PUSH_BUSY;
	case GRPC_DEADLINE: return PUSH_UNSURE;
	case GRPC_UNAUTHENTICATED: case GRPC_PERMISSION: return PUSH_DENIED;
	case GRPC_UNIMPLEMENTED: case GRPC_NOT_FOUND: return PUSH_WRONG_SERVER;
	case GRPC_UNKNOWN: case GRPC_INTERNAL: case GRPC_DATA_LOSS: return PUSH_BROKEN;
	default: return PUSH_REFUSED;
	}
}

/* Pyroscope also refuses for its rate limit with 422. */
static bool is_rate_limit(const struct push_answer *a)
{
	return strcasestr(a->text, "rate limit") != NULL;
}

static enum push_verdict by_http(const struct push_answer *a)
{
	switch (a->http_status) {
	case 401: case 403: return PUSH_DENIED;
	case 404: case 405: case 407: case 415: case 501: case 505: return PUSH_WRONG_SERVER;
	case 408: case 425: case 429: case 502: case 503: case 504: return PUSH_BUSY;
	case 413: return PUSH_TOO_LARGE;
	}
	if (a->http_status < 300)
		return PUSH_TAKEN;
	if (a->http_status < 400)
		return PUSH_WRONG_SERVER;
	if (a->http_status < 500)
		return is_rate_limit(a) ? PUSH_BUSY : PUSH_REFUSED;
	return PUSH_BROKEN;
}

enum push_verdict push_answer_verdict(const struct push_answer *a, enum push_format format)
{
	bool is_grpc = format == PUSH_PARCA;
	if (is_grpc && a->grpc_status >= 0)
		return by_grpc(a);
	/* gRPC's answer is in its trailers: 200 alone says nothing. */
	if (a->http_status >= 200 && !(is_grpc && a->http_status < 300))
		return by_http(a);
	if (a->is_bad_server)
		return PUSH_WRONG_SERVER;
	return a->is_connected && a->is_sent ? PUSH_UNSURE : PUSH_UNREACHED;
}

/* ExportProfilesServiceResponse.partial_success.rejected_profiles */
uint64_t push_answer_rejected(const struct push_answer *a, enum push_format format)
{
	struct bytes b = bytes_of(a->body, a->n_body_bytes);
	struct wire_field f, g;
	if (format != PUSH_OTLP)
		return 0;
	while (wire_next(&b, &f) == 1) {
		if (f.number != 1 || f.type != WIRE_BYTES)
			continue;
		while (wire_next(&f.body, &g) == 1)
			if (g.number == 1 && g.type == WIRE_VARINT && (int64_t)g.value > 0)
				return g.value;
	}
	return 0;
}

uint64_t push_answer_retry_after(const char *value, int64_t now_s)
{
	static const char *const forms[] = {
		"%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y",
	};
	uint64_t s = 0;
	if (*value >= '0' && *value <= '9') {
		if (units_parse_u64(value, &s) < 0)
			return 0;
	} else {
		for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
			struct tm tm = { 0 };
			const char *end = strptime(value, forms[i], &tm);
			if (end && !*end && timegm(&tm) > now_s)
				s = (uint64_t)(timegm(&tm) - now_s);
		}
	}
	return (s < RETRY_AFTER_MAX_S ? s : RETRY_AFTER_MAX_S) * CLOCK_SECOND_NS;
}
