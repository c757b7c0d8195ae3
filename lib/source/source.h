#ifndef CPROF_SOURCE_SOURCE_H
#define CPROF_SOURCE_SOURCE_H

/*
 * Where records come from: live rings, a saved stream, or a table in memory.  Code above this
 * interface cannot tell which, and does not ask the running machine.
 *
 * Records of a source belong to events, numbered from 0.  A source implements next and close.  Each
 * other operation may be missing; source_NAME() then gives the answer stated here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;
struct perf_event_attr;
struct record;
struct source;
struct source_ring;

/* Facts of the machine that was (or is being) recorded. */
struct source_facts {
	char kernel_release[65];  /* uname -r */
	char arch[65];            /* uname -m */
	char hostname[65];
	uint32_t n_cpus;          /* online */
	bool running_kernel;      /* its kallsyms are this machine's */
	bool pause_is_slow;       /* pausing interrupts other CPUs */
};

/* Errors that the source itself saw; monotonic counters. */
struct source_losses {
	uint64_t n_undecodable;   /* RECORD_BAD */
	uint64_t n_unknown;       /* RECORD_UNKNOWN */
	uint64_t n_out_of_order;  /* delivered after a younger record */
	uint64_t n_unassigned;    /* samples of no known event */
};

/* What one event counted since it was opened, summed over threads and CPUs. */
struct source_count {
	uint64_t value;           /* events, or ns for clocks */
	uint64_t time_enabled_ns, time_running_ns;
	uint64_t n_lost;          /* PERF_FORMAT_LOST */
	bool has_lost;            /* n_lost is known */
};

struct source_usage {              /* resources in use */
	uint32_t n_fds;           /* descriptors */
	uint32_t n_cpus_failed;   /* online CPUs on which nothing could be opened */
	uint64_t ring_bytes;      /* data bytes of each ring */
	uint64_t record_bytes;    /* taken out of the rings so far */
};

enum source_outcome {
	SOURCE_RECORD,  /* *ret_record holds one */
	SOURCE_IDLE,    /* nothing now; more may come */
	SOURCE_END,     /* nothing now or ever */
};

#define SOURCE_ALL_EVENTS SIZE_MAX

struct source_ops {
	/* Returns an enum source_outcome, or a negative errno with e set. */
	int (*next)(struct source *s, struct record *ret_record, struct err *e);
	void (*close)(struct source *s);
	/* See source_limit.  Missing: there is no limit. */
	void (*limit)(struct source *s, uint64_t until_ns);

	/* Starts all events, except paused ones and those that start at a command's exec.  Missing:
	 * they are running already. */
	int (*enable)(struct source *s, struct err *e);
	void (*disable)(struct source *s);
	/* Stops or resumes sampling of one event, or of SOURCE_ALL_EVENTS.  Counters stop, too;
	 * mmap, fork and exec records continue.  Missing: -EOPNOTSUPP. */
	int (*pause)(struct source *s, size_t event, struct err *e);
	int (*resume)(struct source *s, size_t event, struct err *e);
	/* See source_wait.  Missing: waits only for the descriptors. */
	int (*wait)(struct source *s, int timeout_ms, const int *fds, size_t n_fds,
		    bool *ret_ready);
	/* Descriptor i that becomes readable when there are records, borrowed; -1 after the last.
	 * Missing: -1. */
	int (*poll_fd)(const struct source *s, size_t i);

	const struct share_ops *share;  /* several readers (share.h); NULL: one */
	/* Reads the counters of an event.  Missing: all zero. */
	void (*count)(struct source *s, size_t event, struct source_count *ret);
	/* On how many CPUs, or for how many threads and CPUs, an event is open.  Missing: 1. */
	size_t (*n_places)(const struct source *s, size_t event);
	/* What an event was opened with, after fallbacks; borrowed.  Missing: NULL, it is not a
	 * perf event. */
	const struct perf_event_attr *(*attr)(const struct source *s, size_t event);
	/* Missing: all zero. */
	void (*usage)(const struct source *s, struct source_usage *ret);

	/* Changes an event's frequency, or the period of an event that has a period.  Threads and
	 * children that have inherited it keep theirs.  Missing: -EOPNOTSUPP. */
	int (*set_rate)(struct source *s, size_t event, uint64_t rate, struct err *e);
	/* Describes ring i (source-ring.h); false after the last one.  Missing: there is none. */
	bool (*ring)(struct source *s, size_t i, struct source_ring *ret);
	/* Changes the size of the stack copies (a multiple of 8) that go into one ring, or adds the
	 * user's chain of frame pointers to all, which costs the target some 50 ns per frame.  On
	 * failure nothing changes.  Missing: -EOPNOTSUPP. */
	int (*set_stack)(struct source *s, size_t ring, uint32_t stack_bytes, struct err *e);
	int (*set_user_chain)(struct source *s, struct err *e);
	/* source-ring.h */
	int (*grow_ring)(struct source *s, size_t ring, uint64_t n_bytes, struct err *e);
	/* What one sample of an event costs the interrupted thread, in ns, measured on this thread
	 * after disable.  Missing or 0: unknown. */
	uint64_t (*sample_cost)(struct source *s, size_t event);
};

/* Embedded first in each kind of source. */
struct source {
	const struct source_ops *ops;
	struct source_facts facts;
	struct source_losses losses;
};

/* The record's pointers are valid until the next source_next or source_close. */
static inline int source_next(struct source *s, struct record *ret_record, struct err *e)
{
	return s->ops->next(s, ret_record, e);
}
void source_close(struct source *s);
void source_read_facts(struct source_facts *f, uint32_t n_cpus);  /* of this machine */
/*
 * From now on next leaves records that are younger than until_ns (CLOCK_MONOTONIC) for later.  If
 * that is the present time, the source is idle when all records written up to now were delivered.
 * UINT64_MAX: no limit.
 */
void source_limit(struct source *s, uint64_t until_ns);
int source_enable(struct source *s, struct err *e);
void source_disable(struct source *s);
int source_pause(struct source *s, size_t event, struct err *e);
int source_resume(struct source *s, size_t event, struct err *e);

/* Waits for records: at most timeout_ms, or until one of the n further descriptors is readable,
 * which sets its flag in ret_ready (may be NULL).  0 or -errno, -EINTR included. */
int source_wait(struct source *s, int timeout_ms, const int *fds, size_t n_fds, bool *ret_ready);
int source_poll_fd(const struct source *s, size_t i);
void source_count(struct source *s, size_t event, struct source_count *ret);
size_t source_n_places(const struct source *s, size_t event);
const struct perf_event_attr *source_attr(const struct source *s, size_t event);
void source_usage(const struct source *s, struct source_usage *ret);
int source_set_rate(struct source *s, size_t event, uint64_t rate, struct err *e);
uint64_t source_sample_cost(struct source *s, size_t event);

#endif
