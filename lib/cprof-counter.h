#ifndef CPROF_COUNTER_H
#define CPROF_COUNTER_H

/*
 * Counting without sampling: how often events happened in processes, threads, a command or on all
 * CPUs.  Events are those of cprof-events(7), opened as for recording.  A counter belongs to one
 * thread at a time.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct host;
struct perf_event_attr;
struct cprof_counter;

/* What to count.  Pointers are borrowed until cprof_counter_free. */
struct cprof_counter_config {
	const char *const *event;      /* n_events lists of events; NULL: the default ones */
	size_t n_events;
	const pid_t *pid, *tid;        /* targets: processes, single threads */
	size_t n_pids, n_tids;
	pid_t command_pid;             /* a child that waits to exec: counting begins there */
	bool all_processes;            /* of the machine, or */
	const char *cpus;              /* of these CPUs; NULL: all */
	bool per_thread;               /* a row for each thread; not for a command */
	bool no_inherit;               /* leave out threads and children created later */
	bool only_user, only_kernel;
	/* Called with explanations up to explain_max, one line each (enum cprof_explain); may be
	 * NULL. */
	void (*explain)(void *ctx, unsigned level, const char *text);
	void *explain_ctx;
	unsigned explain_max;
	/* For tests: another machine, another system call; NULL: the real ones. */
	const struct host *host;
	int (*perf_event_open)(struct perf_event_attr *, pid_t, int, int, unsigned long);
};

/* An event; strings are borrowed until cprof_counter_free. */
struct cprof_counter_event {
	const char *name;              /* "cache-misses:u" */
	size_t n_plain;                /* bytes of the name before the modifiers */
	uint32_t group;                /* of events that are counted together; 0: none */
	bool is_clock;                 /* counts nanoseconds */
	bool is_user, is_kernel;       /* only that side is counted */
	bool given_up_kernel;          /* is_user, because the kernel's side is not allowed */
	double scale;                  /* a count times this is in units; 0: no scale */
	const char *unit;              /* "Joules", "": none */
	const char *why_not;           /* it cannot be counted here: the reason; NULL: it can */
	bool is_denied;                /* the reason: this user may not count it */
};

/* A row of counts: of all targets, or of one thread. */
struct cprof_counter_row {
	pid_t pid, tid;                /* 0: all targets */
	char name[16];                 /* of the thread */
};

/* enabled_ns and running_ns are sums over all threads or CPUs.  An event that did not run all the
 * time shared its hardware counter with others: value * enabled_ns / running_ns is an estimate. */
struct cprof_counter_value {
	uint64_t value, enabled_ns, running_ns;
};

/*
 * Opens the events.  Default events that cannot be counted here, and those that the machine does
 * not have, get a why_not.  -errno with e set if an event is not allowed, or if nothing can be
 * counted; e->is_usage for a request that is wrong on any machine.
 */
int cprof_counter_new(const struct cprof_counter_config *config, struct cprof_counter **ret,
		      struct err *e);
void cprof_counter_free(struct cprof_counter *c);

/* Begins to count; for a command exec does that.  -errno with e set. */
int cprof_counter_start(struct cprof_counter *c, struct err *e);

/* Have the processes and threads ended?  Never for whole CPUs and for a command. */
bool cprof_counter_is_over(struct cprof_counter *c);

/* Reads the counts; they go on.  -errno with e set. */
int cprof_counter_read(struct cprof_counter *c, struct err *e);

size_t cprof_counter_n_events(const struct cprof_counter *c);
size_t cprof_counter_n_rows(const struct cprof_counter *c);
void cprof_counter_event(const struct cprof_counter *c, size_t event,
			 struct cprof_counter_event *ret);
void cprof_counter_row(const struct cprof_counter *c, size_t row, struct cprof_counter_row *ret);

/* As it was read last. */
void cprof_counter_value(const struct cprof_counter *c, size_t row, size_t event,
			 struct cprof_counter_value *ret);

/* Threads that were created while the events were opened, and may be missing. */
size_t cprof_counter_n_unsure(const struct cprof_counter *c);

/* How long the counted CPUs were busy since boot, by the kernel's accounts of 10 ms.  -errno. */
int cprof_counter_busy_ns(const struct cprof_counter *c, uint64_t *ret_ns);

/* The number of CPUs that are counted. */
size_t cprof_counter_n_cpus(const struct cprof_counter *c);

#endif
