#ifndef CPROF_RECORDER_KIND_H
#define CPROF_RECORDER_KIND_H

/*
 * A kind of recorder: what it samples, and how.  All kinds share the code for targets, windows,
 * slices, names, statistics and writing, which knows no kind by name.
 *
 * A kind is a file in lib/recorder/kinds with one struct cprof_kind and a public function that
 * returns it (cprof.h, lib/abi/libcprof.map, libcprof(3)).  Its records come from a source
 * (source/source.h): perf rings, shared memory, or a timer that reads /proc.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "cprof.h"
#include "recorder/kind-event.h"

struct cgroup;
struct engine;
struct err;
struct export_number;
struct host;
struct log;
struct record;
struct snapshot;
struct source;

/* The limit for everything that a recording keeps, unless the caller sets another one. */
#define KIND_MAX_MEMORY_DEFAULT ((size_t)256 << 20)

static inline size_t kind_max_memory(const struct cprof_config *c)
{
	return c->max_memory_bytes ? c->max_memory_bytes : KIND_MAX_MEMORY_DEFAULT;
}

/* What a recorder and its kind share. */
struct kind_session {
	const struct cprof_config *config;
	const struct host *host;
	const struct log *log;
	pid_t owner;                    /* the process that created the recorder */

	/* Set by the kind. */
	void *state;                    /* the kind's own */
	struct kind_event *event;       /* freed by the recorder */
	size_t n_events;
	uint32_t n_outputs;
	struct source *source;          /* closed by the recorder, before the kind */
	enum cprof_scope scope;
	char scope_reason[240];         /* why this scope */
	VEC(struct cprof_scope_change) changes;  /* of this profile; freed by the recorder */
	uint32_t n_readers;             /* that drain the source; set by the recorder */
	bool is_paused;                 /* of some events at least; set by the recorder */
	bool was_cpu;                   /* a part of this profile is of the scope cpu */
	bool only_targets;              /* the source delivers records of targets only */
	bool user_only;                 /* the kernel's side could not be sampled */
	const struct cgroup *cgroup;    /* the target's own, or NULL */
	uint32_t max_stack;             /* kernel.perf_event_max_stack; 0: unknown */
	uint32_t max_branches;          /* calls that the CPU can record; 0: unknown */
	/* Set by the kind, freed by it: labels that are numbers, and comments in the file. */
	const struct export_number *number;
	size_t n_numbers;
	VEC(char *) remarks;
	const struct snapshot *snapshot; /* the last one; NULL: this kind takes none */
};

struct cprof_kind {
	const char *name;

	/*
	 * Checks the configuration and chooses k->event, without rates; does not look at targets.
	 * -EINVAL is reported as wrong usage.  close is called even if this or open fails.
	 */
	int (*choose)(struct kind_session *k, struct err *e);

	/* Opens the source, disabled, and completes k.  -errno with e set: cause and remedy. */
	int (*open)(struct kind_session *k, struct err *e);

	/*
	 * Turns a record into stack, labels and values, in time order.  engine_feed takes stack and
	 * labels from the record and its thread; the values are 1 and the period.
	 * engine_add_sample takes the values from the caller.  A kind may keep records and count
	 * them later.  NULL: all records go to engine_feed.
	 */
	void (*feed)(struct kind_session *k, struct engine *g, const struct record *record);

	/* The source is enabled, and what existed before was read from /proc.  -errno with e set.
	 * NULL: nothing to do. */
	int (*started)(struct kind_session *k, struct engine *g, struct err *e);

	/* The source was drained; now_ns is CLOCK_MONOTONIC.  NULL: nothing to do. */
	void (*drained)(struct kind_session *k, struct engine *g, uint64_t now_ns);

	/* Recording ended at end_ns, and the source was drained.  NULL: nothing to do. */
	void (*ended)(struct kind_session *k, struct engine *g, uint64_t end_ns);

	/*
	 * For kinds whose profile is what the targets are doing at one moment: reads it and counts
	 * it, in cprof_recorder_snapshot.  Such a kind reads the threads and mappings of the
	 * targets itself.  -errno with e set.  NULL: the profile is what was recorded until then.
	 */
	int (*snapshot)(struct kind_session *k, struct engine *g, struct err *e);

	/* When drained should be called at the latest, in ms from now; -1 or NULL: any time. */
	int (*timeout_ms)(const struct kind_session *k);

	/* Finds an event by a name other than kind_event.name: its index or -ENOENT.  NULL: none.
	 */
	int (*find_event)(const struct kind_session *k, const char *name);

	/* Sets the statistics that only the kind knows.  NULL: nothing. */
	void (*stats)(const struct kind_session *k, struct cprof_stats *ret);

	/*
	 * The percentage of what really happened that the samples stand for, by an account that
	 * does not depend on them: the kernel's CPU time of the target (stats), the event's
	 * counter, or the kind's own.  Negative: unknown.
	 */
	double (*coverage_percent)(const struct kind_session *k, const struct cprof_stats *stats,
				   const struct cprof_event_stats *event);

	/* Reports the likely cause of a profile without samples: sets e, returns -ENODATA. */
	int (*why_empty)(const struct kind_session *k, const struct cprof_stats *stats,
			 const struct cprof_event_stats *event, struct err *e);

	/* Frees k->state, however far choose and open got. */
	void (*close)(struct kind_session *k);
};

#endif
