#ifndef CPROF_SOURCE_LIVE_LIVE_H
#define CPROF_SOURCE_LIVE_LIVE_H

/*
 * Records as they happen: perf events opened on a target, one ring per CPU shared by all events and
 * threads, merged in time order.
 *
 * Life cycle: live_open (all events disabled) -> source_enable -> read /proc -> drain by
 * source_next -> source_disable -> drain -> source_close.  Events are enabled before /proc is read,
 * so that a mapping created meanwhile is seen at least once.
 *
 * With LIVE_TASK, stack copies can be changed if the caller knows the processes (`processes`):
 * inherited events cannot be replaced one by one (-EOPNOTSUPP).
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
	LIVE_TASK,    /* one inherited event per thread and CPU: needs no privileges; a single
		       * thread that passes no events on has one */
	LIVE_CPU,     /* one event per CPU for all tasks; the engine filters the target's */
	LIVE_CGROUP,  /* one event per CPU, which the kernel confines to a cgroup */
};

/* Whose samples are wanted. */
struct live_targets {
	const pid_t *pid;            /* processes, all their threads */
	size_t n_pids;
	const pid_t *tid;            /* single threads */
	size_t n_tids;
	bool follow;                 /* and what they create from now on */
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
	/* LIVE_TASK: lists the processes that are targets now; the source frees *ret_pids.  Returns
	 * their number or -errno.  NULL: unknown. */
	int (*processes)(void *ctx, pid_t **ret_pids);
	/* Is one of their threads a target now?  NULL: all of them are. */
	bool (*is_target)(void *ctx, pid_t pid, pid_t tid);
	void *processes_ctx;
	bool by_time;                /* samples in order of time, too: see merge.h */
	bool read_seldom;            /* larger rings, if ring_bytes is 0 */
	bool pausable;               /* source_pause may be called: separate side-band events */
	const char *cpus;            /* only on these CPUs, a list as in cpus.h; NULL: on all */
	/* LIVE_CPU: the kernel shall deliver samples of these only; NULL: of all tasks.  Used
	 * during live_open only. */
	const struct live_targets *filter;
	bool filter_required;        /* -EOPNOTSUPP if the kernel refuses it */
	uint64_t ring_bytes;         /* of data per ring, a power of two of pages; 0: chosen */
	uint64_t rings_bytes;        /* of all rings, if their size is chosen; 0: no limit */
	bool rings_grow;             /* later, by half as much in total; a thread does it */
};

/* Opens and maps everything, disabled.  -errno with e set: cause and remedy. */
int live_open(const struct live_options *o, struct source **ret_source, struct err *e);

/* The number of threads that events were opened on (LIVE_TASK). */
uint32_t live_n_threads(const struct source *s);

/* Why there is no filter (live_options.filter); NULL: there is one. */
const char *live_why_unfiltered(const struct source *s);

/*
 * Replaces the events of threads by events of CPUs (LIVE_TASK, LIVE_CPU), or the reverse, for which
 * `processes` must be known.  Each moment is covered by the samples of one of them, and each sample
 * says whose it is: record.of_target.  The change ends during source_wait; then another one is
 * possible (-EAGAIN before).  On failure nothing changes; -EOPNOTSUPP: never possible.
 */
int livescope_set(struct source *s, enum live_scope scope, struct err *e);
bool livescope_is_changing(const struct source *s);

/* Begins to copy memory at samples, if the kernel allows it (samplecopy.h): the copies, borrowed.
 * NULL: there are none.  n_cpus: those that may ever be online. */
struct samplecopy;
const struct samplecopy *live_copies(struct source *s, uint32_t n_cpus);

/* Whether the kernel drops samples of other tasks, of which event. */
enum live_filtered {
	LIVE_UNFILTERED,
	LIVE_PARTLY_FILTERED,  /* it dropped some, and has had no room for a new task since */
	LIVE_FILTERED,
};
enum live_filtered live_filtered(const struct source *s, size_t i);

/* What the ladder of fallbacks gave up for event i: enum evopen_given_up. */
unsigned live_given_up(const struct source *s, size_t i);

#endif
