#ifndef CPROF_SOURCE_LIVE_LIVE_PRIVATE_H
#define CPROF_SOURCE_LIVE_LIVE_PRIVATE_H

/* Shared by the files of live rings. */

#include "base/hashindex.h"
#include "base/vec.h"
#include "source/live/live-ids.h"
#include "source/live/live.h"
#include "source/live/livebirth.h"
#include "source/live/livecopy.h"
#include "source/live/livefilter.h"
#include "source/live/livegroup.h"
#include "source/live/livegrow.h"
#include "source/live/livescope.h"
#include "source/live/livevary.h"
#include "source/merge.h"
#include "source/record.h"
#include "source/ring.h"

struct live_fd {
	int fd;
	uint32_t event;   /* RECORD_NO_EVENT: side band only */
	uint32_t tid;
	int cpu;
	uint64_t id;
	uint32_t stack_bytes;  /* of its copies; 0: none */
	uint64_t varied_value;  /* its counter when livevary.c changed its period */
	bool sideband;    /* carries the side-band records of its place */
	bool ends;        /* livescope.c: it is being replaced */
};

struct live_event {
	struct perf_event_attr attr;   /* as it opened */
	struct source_count closed;    /* what its closed predecessors counted */
	uint64_t cut_value;            /* what samples stand for that did not count; atomic */
	unsigned given_up;             /* enum evopen_given_up */
	bool paused;
	bool filtered, unfiltered;     /* on some CPU the kernel filters it; it does not */
	bool broken;                   /* its weak group could not be opened */
};

struct live_ring {
	struct ring ring;
	int fd;           /* the dummy event that owns it */
	uint64_t varied_at;   /* ring.tail when the periods of its clocks last changed */
	int cpu;
	uint64_t n_lost;  /* by its LOST records */
	VEC(uint64_t) closed;  /* ids of closed events, whose samples may still be in it */
	uint64_t past_bytes;  /* taken out of smaller rings before it: livegrow.c */
	bool has_late;    /* livetask.c has replaced its events: `late` holds instead of live's */
	struct live_lates late;
	uint32_t stack_bytes;  /* of its copies; 0: as the events ask */
};

/* One of several readers of the rings: livereaders.c. */
struct live_reader {
	uint32_t index;
	struct livegroup group;
	struct merge merge;
	VEC(struct live_shared) shared;  /* per ring: the last sample of a shared event */
	struct source_losses losses;   /* of the samples of its threads */
	uint64_t n_samples, n_chain_entries, n_stack_bytes;  /* of all samples received */
	uint64_t n_noted;              /* of n_samples, in divide */
	uint32_t last_tid;             /* and whether another reader has it */
	bool last_is_other;
	uint8_t apart[64];             /* from the next reader's cache lines */
};

struct live {
	struct source source;  /* first: source_ops get this */
	struct source_usage usage;     /* without record_bytes */
	uint32_t n_threads;            /* LIVE_TASK: threads found */
	uint64_t opened_ns;            /* when the events were opened; CLOCK_BOOTTIME */
	struct record_format *format;  /* per event; ids and times are in the same place in all */
	struct round round;            /* what waits in the rings */
	struct live_reader first;      /* the only one, unless there are others */
	struct live_reader *other;     /* n_readers - 1 */
	uint32_t n_readers;            /* 0 and 1: no others */
	struct divide divide;          /* the threads among the readers */
	bool all_samples;              /* each reader needs those of all threads */
	struct livefilter filter;
	const char *why_unfiltered;
	struct samplecopy copy;
	int copy_fd;                   /* the program; -1: nothing is copied */
	struct live_ring *ring;
	size_t n_rings;
	VEC(struct live_fd) fds;
	struct live_lates late;
	bool has_repeats;              /* some threads may have had two sets of events */
	struct live_event *event;
	VEC(struct live_rate) rates;   /* of inherited events, oldest first */
	bool no_ksymbol;               /* this kernel does not have such records */
	struct live_options options;   /* events and host are borrowed */
	VEC(struct live_id) ids;
	VEC(uint32_t) free_ids;        /* places in ids that are not in use */
	struct hashindex id_index;
	struct livevary vary;
	struct livescope scope;
	struct livebirth births;
	struct livegrow grow;
	VEC(struct pollfd) poll;       /* of live_wait */
	int rings_fd;                  /* an epoll of all rings; only with has_rings_fd */
	bool has_rings_fd;
};

extern const struct source_ops live_ops;

/* Once the events are open: some may get samples with the time of another recorder's clock. */
void live_watch_clocks(struct live *l);

/* Opens and maps a ring for ret->cpu: sets its fd and ring, with n_bytes of data.  -EPERM: the
 * limit of locked memory. */
int live_open_ring(const struct live *l, const struct live_options *o, uint64_t n_bytes,
		   struct live_ring *ret, struct err *e);
/* The wait is for records of this ring, too: a place of livegrow. */
int live_watch_ring(struct live *l, size_t place);

/* Parts of liveopen.c: directs an event to its ring and adds it to l->fds, or closes it; makes an
 * event carry the side band of its place. */
int live_keep_fd(struct live *l, const struct live_options *o, struct live_fd f, int ring_fd,
		 struct err *e);
void live_add_sideband(const struct live *l, struct perf_event_attr *attr,
		       const struct evopen_place *at);

/*
 * Opens all events at one place, on every ring's CPU: pid is a thread, -1, or a cgroup's
 * descriptor.  found: per event, its attr is known to open.  -ESRCH if the thread has ended.
 */
int live_open_place(struct live *l, const struct live_options *o, pid_t pid, uint32_t tid,
		    unsigned long flags, bool *found, struct err *e);

/* Operations of the source that have files of their own. */
int live_set_stack(struct source *s, size_t ring, uint32_t stack_bytes, struct err *e);
int live_set_user_chain(struct source *s, struct err *e);
uint64_t live_sample_cost(struct source *s, size_t event);
/* The next record for one reader, as source_next. */
int live_next_of(struct live *l, struct live_reader *v, struct record *ret_record);

/* Adds an event's counter to the sum, unless its samples are dropped as double. */
void live_add_count(const struct live *l, const struct live_fd *f, struct source_count *sum);

/* Of memory at samples (live-copy.c): for an event that was just opened; at the end. */
void live_copy_attach(const struct live *l, const struct live_fd *f);
void live_copy_done(struct live *l);

#endif
