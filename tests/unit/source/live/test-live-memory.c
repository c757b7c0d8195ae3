/* Opening live rings while memory is short: each calloc fails in turn. */
#include "base/err.h"
#include "base/host.h"
#include "event/evopen.h"
#include "event/evparse.h"
#include "event/evspec.h"
#include "source/live/live.h"
#include "tests/unit/tap.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static long n_calls, fail_at = -1;

void *__wrap_calloc(size_t n, size_t n_bytes);
void *__real_calloc(size_t n, size_t n_bytes);

void *__wrap_calloc(size_t n, size_t n_bytes)
{
	if (++n_calls == fail_at) {
		errno = ENOMEM;
		return NULL;
	}
	return __real_calloc(n, n_bytes);
}

int main(void)
{
	struct host host;
	struct err e;
	struct evspec_list events = { 0 };
	struct source *s;
	if (host_open(&host, NULL, NULL, NULL, &e) < 0 ||
	    evparse_list(&events, &host, "cpu-clock:u,page-faults:u", &e) < 0)
		return 1;
	struct live_options o = {
		.event = events.v, .n_events = events.n, .scope = LIVE_TASK,
		.attr = { .rate_default_hz = 99, .rate_max_hz = 1000 },
		.open = { .fn = evopen_syscall, .host = &host }, .pausable = true,
		.tid = (const pid_t[]){ getpid() }, .n_tids = 1,
	};
	n_calls = 0;
	if (live_open(&o, &s, &e) < 0) {
		tap_skip("memory that is short", e.what);
		return tap_done();
	}
	long n = n_calls;
	source_close(s);
	bool refused = true, works = true;
	long n_opened = 0;
	for (long at = 1; at <= n; at++) {
		n_calls = 0;
		fail_at = at;
		int r = live_open(&o, &s, &e);
		fail_at = -1;
		if (r < 0) {
			refused &= r == -ENOMEM && e.what[0];
			continue;
		}
		n_opened++;
		works &= source_enable(s, &e) == 0 && source_pause(s, 0, &e) == 0;
		source_disable(s);
		source_close(s);
	}
	tap_ok(n >= 3, "opening allocates %ld times", n);
	tap_ok(refused, "each failure is reported as ENOMEM");
	tap_ok(works, "or the events work nevertheless, %ld times", n_opened);
	evspec_list_done(&events);
	host_close(&host);
	return tap_done();
}
