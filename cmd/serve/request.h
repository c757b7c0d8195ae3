#ifndef CPROF_CMD_SERVE_REQUEST_H
#define CPROF_CMD_SERVE_REQUEST_H

/*
 * What a URL asks for.  The paths and parameters are those of Go's net/http/pprof, and of its
 * proposal for PMU profiles (event, period); cprof-serve(1) lists them.  All texts are foreign.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

enum request_kind {
	REQUEST_INDEX, REQUEST_HEALTHY, REQUEST_METRICS,
	REQUEST_PROFILE,               /* a recording of some time */
	REQUEST_SNAPSHOT,              /* of one moment */
};

/* Whose profile. */
enum request_target {
	REQUEST_DEFAULT,               /* what the server's options say */
	REQUEST_PID, REQUEST_COMM, REQUEST_CGROUP,
};

/* What is recorded or shown. */
enum request_what {
	REQUEST_EVENT, REQUEST_ALLOC, REQUEST_HEAP, REQUEST_THREADS, REQUEST_GOROUTINES,
};

#define REQUEST_EVENT_MAX 256
#define REQUEST_RATE_MAX 32
#define REQUEST_TARGET_MAX 256

struct request {
	enum request_kind kind;
	enum request_what what;
	char event[REQUEST_EVENT_MAX]; /* in the syntax of cprof-events(7); "": chosen */
	char rate[REQUEST_RATE_MAX];   /* Hz, or with is_period a period; "": the default */
	bool is_period;
	uint64_t window_ns;
	enum request_target target;
	char target_text[REQUEST_TARGET_MAX];
	unsigned debug;                /* of goroutines: 1 and 2 are texts */
};

struct request_argument {
	const char *key, *value;       /* decoded; value may be NULL */
};

/*
 * Returns 0, or the status of HTTP with e set: 404 for a path that does not exist, 400 for a
 * parameter that is unknown, wrong or given twice.  window_max_ns: the longest recording.
 */
int request_parse(const char *path, const struct request_argument *arg, size_t n_args,
		  uint64_t window_max_ns, struct request *ret, struct err *e);

#endif
