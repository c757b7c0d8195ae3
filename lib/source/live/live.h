#ifndef CPROF_SOURCE_LIVE_LIVE_H
#define CPROF_SOURCE_LIVE_LIVE_H

/*
 * Records as they happen: perf events opened on a target, one ring per CPU shared
 * by all events and threads, merged in time order.
 *
 * Life: live_open (all events disabled) -> live_enable -> read /proc -> drain by
 * source_next -> live_disable -> drain -> source_close.  Enabling before /proc is read means that
 * a mapping made meanwhile is seen at least once.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "event/evattr.h"
#include "event/evopen.h"
#include "source/source.h"

struct evspec;
struct record_format;

enum live_scope {
	LIVE_TASK,    /* one inherited event per thread and CPU: needs no privileges; one event for
		       * a single thread that passes none on */
	LIVE_CPU,     /* one event per CPU for all tasks; the engine keeps the target's */
	LIVE_CGROUP,  /* one event per CPU, which the kernel confines to a cgroup */
};

struct live_options {
	const struct evspec *event;
	size_t n_events;
	struct evattr_options attr;
	struct evopen open;
	enum live_scope scope;
	int cgroup_fd;               /* LIVE_CGROUP: its folder */
	const pid_t *pid;            /* LIVE_TASK: processes, with all their threads */
	size_t n_pids;
	const pid_t *tid;            /* LIVE_TASK: single threads (also a command's) */
	size_t n_tids;
	bool read_seldom;            /* larger rings, where ring_bytes is 0 */
	bool pausable;               /* the side band has events of its own: see live_pause */
	const char *cpus;            /* on these CPUs only, a list as in cpus.h; NULL: on all */
	bool expects_files;          /* the session opens files of many programs */
	uint64_t ring_bytes; /* data bytes of each ring, a power of two of pages; 0: choose */
};

/* What one event counted, summed over threads and CPUs. */
struct live_count {
	uint64_t value;              /* events, or ns for clocks */
	uint64_t time_enabled_ns, time_running_ns;
	uint64_t n_lost;             /* PERF_FORMAT_LOST; 0 where the kernel does not tell */
	bool has_lost;
};

struct live_facts {
	uint32_t n_fds;              /* descriptors in use */
	uint32_t n_cpus_failed;      /* online CPUs on which nothing could be opened */
	uint32_t n_threads;          /* LIVE_TASK: threads found */
	uint64_t ring_bytes;         /* data bytes per ring, as it came out */
};

/* Opens and maps everything, disabled.  -errno with e set: cause and remedy. */
int live_open(const struct live_options *o, struct source **ret_source, struct err *e);

/* Enables everything, or, paused, all but the sampling. */
int live_enable(struct source *s, struct err *e);
void live_disable(struct source *s);

/*
 * Stops the sampling of one event, or of all (LIVE_ALL_EVENTS), and lets it go on; what is mapped,
 * forked and exec'ed meanwhile is told as ever.  Only with live_options.pausable.  Counters stand
 * still, too.  One system call for each descriptor.
 */
#define LIVE_ALL_EVENTS SIZE_MAX
int live_pause(struct source *s, size_t event, struct err *e);
int live_resume(struct source *s, size_t event, struct err *e);

/*
 * From now on copies so many bytes of user stacks (a multiple of 8): each event is opened anew,
 * and takes over from the one before.  Not for LIVE_TASK, whose inherited events cannot be
 * replaced: -EOPNOTSUPP.  On failure all is as it was.
 */
int live_set_stack(struct source *s, uint32_t stack_bytes, struct err *e);

/* In the same way: from now on samples with stack copies also have the user's chain of frame
 * pointers, which costs the target some 50 ns for each frame. */
int live_set_user_chain(struct source *s, struct err *e);

/*
 * From now on samples event i with this frequency, or if it has a period with this period: in all
 * scopes, but not in threads and children that have inherited it already.  -errno with e set.
 */
int live_set_rate(struct source *s, size_t i, uint64_t rate, struct err *e);

/* What one sample of event i cost whom it interrupted, in ns, measured on this thread after
 * live_disable; 0: unknown. */
uint64_t live_cost_sample(struct source *s, size_t i);

/* Waits for records: at most timeout_ms, or until one of the n further descriptors is readable
 * (its revents-like flag in ret_ready, may be NULL).  Returns 0 or -errno (-EINTR included). */
int live_wait(struct source *s, int timeout_ms, const int *fds, size_t n_fds, bool *ret_ready);

/* The descriptor that is readable when ring i has records; -1 behind the last.  Borrowed. */
int live_ring_fd(const struct source *s, size_t i);

/* On how many CPUs, or for how many threads and CPUs, event i is open. */
size_t live_n_places(const struct source *s, size_t i);

/* Reads the counters of event i. */
void live_read(struct source *s, size_t i, struct live_count *ret_count);

/* How many bytes of records were taken out of the rings. */
uint64_t live_taken_bytes(const struct source *s);

/* Borrowed until close. */
const struct live_facts *live_facts(const struct source *s);
/* The attr that event i was opened with, after fallbacks. */
const struct perf_event_attr *live_attr(const struct source *s, size_t i);
/* What the ladder left out of event i: enum evopen_given_up. */
unsigned live_given_up(const struct source *s, size_t i);

#endif
