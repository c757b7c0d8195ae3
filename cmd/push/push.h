#ifndef CPROF_CMD_PUSH_PUSH_H
#define CPROF_CMD_PUSH_PUSH_H

/* The pusher: what it holds, and one step of its work. */

#include "cmd/push/push-http.h"
#include "cmd/push/push-opts.h"
#include "cmd/push/push-pace.h"
#include "cmd/push/push-spool.h"
#include "cmd/push/push-state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PUSH_REPORT_EVERY_NS (60 * UINT64_C(1000000000))

struct push {
	struct push_opts opts;
	struct push_spool spool;
	size_t at;                   /* the next one of spool.name */
	struct push_state state;
	struct push_http *http;
	struct push_pace pace;
	size_t n_alone;              /* so many profiles are sent one at a time */
	uint64_t dropped_told_ns;    /* when dropped profiles were last mentioned; 0: never */
	uint64_t report_next_ns;     /* losses are reported from then on */
	uint64_t start_ns;           /* CLOCK_REALTIME of the start */
	int signal_fd, notify_fd;
	bool stops;                  /* SIGINT or SIGTERM has come */
	bool hurries;                /* SIGHUP has: try again at once */
};

enum push_step {
	PUSH_STEP_DONE,    /* a request is settled: there may be more */
	PUSH_STEP_EMPTY,   /* nothing to send */
	PUSH_STEP_LATER,   /* try again at pace.next_ns */
};

/* Settles what was being sent when the last pusher ended.  -errno if the state cannot be
 * written. */
int push_recover(struct push *p, struct err *e);

/* Sends the next batch, or a report of losses. */
enum push_step push_next(struct push *p);

/* Records that the batch is being sent; ctx is the pusher.  False: the state cannot be written. */
bool push_begin(void *ctx);

/* A profile of the losses that were not reported, as a service of its own; NULL if out of memory.
 * Its time is that of the last report, or of our start. */
struct push_item *push_report_make(const struct push_state *s, uint64_t start_ns, uint64_t now_ns);

/* Prints "cprof push: text" unless --quiet. */
void push_say(const struct push *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
