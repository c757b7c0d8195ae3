/* Requests to cprof serve: a line with the path, then one for each parameter.  Each is refused with
 * a reason, or within its limits.  Also reads addresses. */

#include "base/err.h"
#include "cmd/serve/request.h"
#include "cmd/serve/serve-address.h"

#include <stdlib.h>
#include <string.h>

#define ARGUMENTS_MAX 16
#define WINDOW_MAX_NS (300 * UINT64_C(1000000000))

static void check(bool ok)
{
	if (!ok)
		abort();
}

static void check_request(const struct request *r)
{
	check(r->window_ns > 0 && r->window_ns <= WINDOW_MAX_NS && r->debug <= 2);
	check(memchr(r->event, '\0', sizeof(r->event)) && memchr(r->rate, '\0', sizeof(r->rate)));
	check(memchr(r->target_text, '\0', sizeof(r->target_text)));
	check((r->target == REQUEST_DEFAULT) == (r->target_text[0] == '\0'));
	check(r->target != REQUEST_CGROUP || !strstr(r->target_text, ".."));
	check(r->what == REQUEST_EVENT || !r->event[0]);
	check(!r->debug || r->what == REQUEST_GOROUTINES);
	check(!r->is_period || r->rate[0]);
}

static void check_address(const char *text)
{
	struct serve_address a;
	char shown[SERVE_ADDRESS_TEXT_MAX];
	struct err e = { 0 };
	if (serve_address_parse(text, &a, &e) < 0) {
		check(e.what[0] && e.is_usage);
		return;
	}
	check(*serve_address_text(&a, shown));
	check(!a.is_unix || !serve_address_is_loopback(&a));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct request_argument arg[ARGUMENTS_MAX];
	struct request r;
	struct err e = { 0 };
	size_t n = 0;
	char *text = malloc(size + 1), *rest = text;
	if (!text)
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	const char *path = strsep(&rest, "\n");
	for (char *line; n < ARGUMENTS_MAX && (line = strsep(&rest, "\n"));) {
		char *value = line;
		arg[n].key = strsep(&value, "=");
		arg[n++].value = value;
	}
	int status = request_parse(path, arg, n, WINDOW_MAX_NS, &r, &e);
	check(status == 0 || status == 400 || status == 404);
	if (status)
		check(e.what[0]);
	else
		check_request(&r);
	check_address(path);
	free(text);
	return 0;
}
