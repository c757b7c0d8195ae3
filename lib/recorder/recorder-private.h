#ifndef CPROF_RECORDER_RECORDER_PRIVATE_H
#define CPROF_RECORDER_RECORDER_PRIVATE_H

/* What a recorder holds. */

#include "base/host.h"
#include "base/log.h"
#include "cprof.h"
#include "engine/engine.h"
#include "profile/namecache.h"
#include "profile/names.h"
#include "recorder/cost.h"
#include "recorder/coverage.h"
#include "recorder/kind.h"
#include "recorder/readers.h"
#include "recorder/slices.h"
#include "recorder/window.h"
#include "source/source.h"

struct err;
struct export_part;

/* Target processes that have not ended. */
struct recorder_watch {
	int *pidfd;                /* pidfd_open(2) */
	size_t n, n_gone;
};

struct cprof_recorder {
	struct cprof_config config;
	const struct cprof_kind *kind;
	struct kind_session session;
	struct log log_sink;           /* session.log, if there are explanations */
	pid_t self;                    /* the target that config.self stands for */
	struct host own_host;          /* session.host, unless the caller gave one */
	uint32_t *output;              /* per event: see engine_options */
	const char **pmu;
	uint64_t *period;
	const struct evusdt_args **args; /* NULL: no event uses any */
	uint64_t *quantum_ns;          /* NULL: likewise */
	uint8_t *waits;                /* NULL: no event measures waits */
	struct engine engine;
	struct coverage coverage;
	struct window window;
	struct slices slices;          /* config.keep_last_ns */
	struct cost cost;
	struct readers readers;
	struct recorder_watch watch;
	struct livecode *live;         /* NULL: names of JIT code are not read from memory */
	struct names names;
	struct namecache known;        /* names of earlier profiles */
	size_t n_known_bytes;          /* charged for them */
	uint32_t names_compactions;    /* the engine's gc.tables.n_runs that names belong to */
	int poll_fd;                   /* see cprof_recorder_fd; -1: none */
	uint64_t huge_pages_before, n_huge_pages;  /* if an event is in bytes: see hugepages.h */
	int due_fd;                    /* a timer; -1: none */
	uint64_t cpu_before_ns;        /* CPU time of the process when the recorder was created */
	uint64_t cpu_snapshot_ns;      /* and at the last snapshot: see own_cpu_ns() */
	bool counted;                  /* counters were read for a snapshot */
	bool engine_ready, names_ready, started, stopped;
};

/* Copies a configuration of n_bytes, because the caller may be compiled for another version.  A
 * shorter one is older; the additional bytes of a longer one must be zero (-E2BIG). */
int recorder_take_config(struct cprof_config *c, const void *config, size_t n_bytes, struct err *e);

/* -ECHILD in a process that was forked after the recorder was created. */
int recorder_check_owner(const struct cprof_recorder *rec, struct err *e);

/* The first of the session's events that belong to a profile. */
size_t recorder_first_variant(const struct cprof_recorder *rec, size_t event);

/* Reads the counters of the window and accounts for lost samples. */
void recorder_count(struct cprof_recorder *rec);

/* Processes all records up to now, and no younger ones; with reads_counters, the counters are read
 * at that time.  -errno with e set. */
int recorder_take_in(struct cprof_recorder *rec, bool reads_counters, struct err *e);

/* Looks up the names of all frames that samples have.  -ENOMEM with e set. */
int recorder_look_up_names(struct cprof_recorder *rec, struct err *e);

/* -EINVAL, with e set, unless there is something to write and such an event. */
int recorder_check_written(const struct cprof_recorder *rec, size_t event, struct err *e);

/* cprof_recorder_write of some of the samples, with one comment; part and comment NULL: all. */
int recorder_write_part(struct cprof_recorder *rec, size_t event, const struct export_part *part,
			const char *comment,
			int (*write)(void *ctx, const void *data, size_t n_bytes), void *ctx,
			struct err *e);

/* Are page faults counted as bytes? */
bool recorder_counts_bytes(const struct cprof_recorder *rec);

/* The statistics of one event of the session; one of the user's events may have several. */
void recorder_variant_stats(const struct cprof_recorder *rec, size_t i,
			    struct cprof_event_stats *ret);

/* The percentage of what really happened that the samples of an event stand for; see struct
 * cprof_kind. */
double recorder_coverage_percent(const struct cprof_recorder *rec, const struct cprof_stats *stats,
				 const struct cprof_event_stats *event);

#endif
