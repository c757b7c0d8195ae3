#include "cmd/push/push-answer.h"
#include "cmd/push/push-pace.h"
#include "tests/unit/tap.h"

#define S UINT64_C(1000000000)

static void test_http(void)
{
	static const struct {
		long status; const char *text; enum push_verdict want;
	} cases[] = {
		{ 200, "", PUSH_TAKEN }, { 204, "", PUSH_TAKEN }, { 301, "", PUSH_WRONG_SERVER },
		{ 400, "", PUSH_REFUSED }, { 401, "", PUSH_DENIED }, { 403, "", PUSH_DENIED },
		{ 404, "", PUSH_WRONG_SERVER }, { 405, "", PUSH_WRONG_SERVER },
		{ 408, "", PUSH_BUSY }, { 413, "", PUSH_TOO_LARGE }, { 415, "", PUSH_WRONG_SERVER },
		{ 422, "bad", PUSH_REFUSED }, { 422, "push Rate Limit (5)", PUSH_BUSY },
		{ 429, "", PUSH_BUSY }, { 500, "", PUSH_BROKEN }, { 502, "", PUSH_BUSY },
		{ 503, "", PUSH_BUSY }, { 504, "", PUSH_BUSY },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct push_answer a = { true, true, false, cases[i].status, -1, 0,
					 cases[i].text, "", 0 };
		tap_int(push_answer_verdict(&a, PUSH_OTLP), cases[i].want, cases[i].text);
	}
}

static void test_grpc(void)
{
	static const struct {
		long http; int status; const char *text; enum push_verdict want;
	} cases[] = {
		{ 200, 0, "", PUSH_TAKEN }, { 200, 3, "", PUSH_REFUSED },
		{ 200, 16, "", PUSH_DENIED },
		{ 200, 7, "", PUSH_DENIED }, { 200, 12, "", PUSH_WRONG_SERVER },
		{ 200, 14, "", PUSH_BUSY }, { 200, 8, "quota", PUSH_BUSY },
		{ 200, 8, "grpc: received message larger than max (5 vs. 4)", PUSH_TOO_LARGE },
		{ 200, 13, "", PUSH_BROKEN }, { 200, 4, "", PUSH_UNSURE },
		{ 200, -1, "no trailers", PUSH_UNSURE }, { 503, -1, "a proxy", PUSH_BUSY },
		{ 404, -1, "a proxy", PUSH_WRONG_SERVER },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct push_answer a = { true, true, false, cases[i].http, cases[i].status, 0,
					 cases[i].text, "", 0 };
		tap_int(push_answer_verdict(&a, PUSH_PARCA), cases[i].want, cases[i].text);
	}
}

static void test_none(void)
{
	struct push_answer a = { .grpc_status = -1, .text = "" };
	tap_int(push_answer_verdict(&a, PUSH_OTLP), PUSH_UNREACHED, "no connection");
	a.is_connected = true;
	tap_int(push_answer_verdict(&a, PUSH_OTLP), PUSH_UNREACHED, "half of a request");
	a.is_sent = true;
	tap_int(push_answer_verdict(&a, PUSH_OTLP), PUSH_UNSURE, "all of it");
	a.http_status = 100;
	tap_int(push_answer_verdict(&a, PUSH_OTLP), PUSH_UNSURE, "100 is no answer");
	a = (struct push_answer){ .is_bad_server = true, .grpc_status = -1, .text = "" };
	tap_int(push_answer_verdict(&a, PUSH_PARCA), PUSH_WRONG_SERVER, "another certificate");
}

static void test_retry_after(void)
{
	const int64_t now = 1700000000;   /* Tue, 14 Nov 2023 22:13:20 GMT */
	static const struct { const char *value; uint64_t want_s; } cases[] = {
		{ "5", 5 }, { "0", 0 }, { "99999", 3600 }, { "", 0 }, { "soon", 0 }, { "-5", 0 },
		{ "Tue, 14 Nov 2023 22:13:50 GMT", 30 }, { "Tuesday, 14-Nov-23 22:13:50 GMT", 30 },
		{ "Tue Nov 14 22:13:50 2023", 30 }, { "Tue, 14 Nov 2023 22:13:00 GMT", 0 },
		{ "5 minutes", 0 }, { "99999999999999999999999", 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		tap_int((long long)(push_answer_retry_after(cases[i].value, now) / S),
			(long long)cases[i].want_s, cases[i].value);
}

static void test_rejected(void)
{
	struct push_answer a = { .body = "\n\x02\x08\x05", .n_body_bytes = 4 };
	tap_int((long long)push_answer_rejected(&a, PUSH_OTLP), 5, "a part was rejected");
	tap_int((long long)push_answer_rejected(&a, PUSH_PYROSCOPE), 0, "only OTLP has that");
	a.n_body_bytes = 3;
	tap_int((long long)push_answer_rejected(&a, PUSH_OTLP), 0, "a truncated answer");
}

static void test_pace(void)
{
	struct push_pace p = { .wait_ns = 0 };
	struct push_answer a = { .grpc_status = -1 };
	static const uint64_t want_s[] = { 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300 };
	for (size_t i = 0; i < sizeof(want_s) / sizeof(*want_s); i++) {
		push_pace_failed(&p, &a, PUSH_UNREACHED, 1000 * S, want_s[i] * S / 2);
		tap_int((long long)((p.next_ns - 1000 * S) / S), (long long)want_s[i],
			"each wait is twice as long, up to five minutes");
	}
	push_pace_failed(&p, &a, PUSH_UNREACHED, 1000 * S, 0);
	tap_int((long long)((p.next_ns - 1000 * S) / S), 150, "half of it at random");
	tap_int(push_pace_settled(&p), 12, "failures before an answer");
	a.retry_after_ns = 50 * S;
	push_pace_failed(&p, &a, PUSH_BUSY, 1000 * S, 7);
	tap_ok(p.next_ns >= 1050 * S && p.next_ns < 1051 * S, "Retry-After is obeyed");
	tap_ok(push_pace_tells(&p, PUSH_BUSY, 1000 * S), "the first failure is reported");
	tap_ok(!push_pace_tells(&p, PUSH_BUSY, 1500 * S), "not the next one");
	tap_ok(push_pace_tells(&p, PUSH_DENIED, 1500 * S), "another one is");
	tap_ok(push_pace_tells(&p, PUSH_DENIED, 2200 * S), "and again after ten minutes");
	for (unsigned int i = 0; i < PUSH_PACE_BROKEN_TRIES; i++) {
		tap_ok(!push_pace_gives_up(&p), "a broken server gets some tries");
		push_pace_failed(&p, &a, PUSH_BROKEN, 1000 * S, 7);
	}
	tap_ok(push_pace_gives_up(&p), "and no more");
}

int main(void)
{
	test_http();
	test_grpc();
	test_none();
	test_retry_after();
	test_rejected();
	test_pace();
	return tap_done();
}
