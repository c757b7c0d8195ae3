#ifndef CPROF_ENGINE_ENGINE_H
#define CPROF_ENGINE_ENGINE_H

/*
 * Turns a stream of records into counts.  The engine sees only struct record: whether one came from
 * live rings, a saved stream or /proc makes no difference here.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agg/counts.h"
#include "agg/frames.h"
#include "agg/labels.h"
#include "agg/stacks.h"
#include "agg/vfuncs.h"
#include "base/budget.h"
#include "base/strtab.h"
#include "base/vec.h"
#include "proc/owners.h"
#include "proc/procs.h"
#include "engine/allocs.h"
#include "labels/applabels.h"
#include "labels/golabels.h"
#include "engine/functions.h"
#include "engine/gc-tables.h"
#include "engine/gc-threads.h"
#include "engine/pausegaps.h"
#include "proc/jit.h"
#include "stack/stack-patchlater.h"
#include "engine/throttle.h"
#include "engine/reread-maps.h"
#include "labels/locklabels.h"
#include "labels/samplelabels.h"
#include "source/share.h"
#include "stack/stack-walk.h"
#include "engine/targets.h"
#include "engine/unwound.h"
#include "engine/waits.h"
#include "engine/wakees.h"

struct err;
struct evusdt_args;
struct engine_options {
	size_t max_memory_bytes;
	const struct host *host;     /* NULL: a replay, which reads nothing on this machine */
	struct livecode *live;       /* borrowed; NULL: names are not read from memory */
	size_t n_events;
	const uint64_t *period;      /* per event, for samples without one; borrowed */
	const uint32_t *output;      /* per event: the profile it belongs to; NULL: its own */
	const char *const *pmu;      /* per event: its label pmu or NULL; NULL: none has one */
	const uint8_t *waits;        /* per event: enum waits_role bits; NULL: there are no waits */
	const uint64_t *quantum_ns;  /* per event of waits: counted in these; 0: exactly; or NULL */
	const struct evusdt_args *const *args; /* per event: those that samples use; or NULL */
	uint64_t by_count, has_gaps; /* bits per event: weighed by its counter; others left out */
	unsigned labels;             /* enum samplelabel bits */
	const char *const *label;    /* "KEY=VALUE" on every sample, checked by the caller */
	size_t n_labels;
	struct timelabel timeline;   /* since_ns: set by the owner, with window.start_ns */
	uint32_t max_stack, max_branches; /* as in struct stack_walk */
	uint32_t max_depth;          /* frames of a stack unwound by CFI; 0: the default */
	const char *machine, *cache_dir; /* its uname -m; of interp-saved.h, or NULL */
	bool has_locks;              /* waits for locks have the labels of locklabels.h */
	struct golabels_wanted go;   /* labels of Go programs */
	enum interp_mode interpreter; /* what stacks show of one; without a host: NONE */
	bool frugal, follow;         /* see struct cprof_config; later threads are targets */
	uint32_t own_pid;            /* the process whose samples n_own counts; 0: none */
	struct share_reader reader;  /* samples of its threads only; without a source: all */
};

struct engine_event {
	uint64_t n_samples;          /* of targets, without lost ones */
	uint64_t value;              /* sum of their periods */
	uint64_t n_own, n_foreign;   /* of the recording process; of other tasks: ignored */
	uint64_t n_lost_records, n_lost_in_ring; /* LOST and LOST_SAMPLES; LOST: full rings */
	uint64_t n_throttles, throttled_ns; /* how often; for how long, of all threads and CPUs */
	uint64_t n_lost;             /* added by engine_add_lost */
	uint64_t n_unsampled;        /* waits that others stand for */
	uint64_t no_stack_ns, torn_ns;  /* waits with an unknown stack; whose end has no record */
	uint64_t n_placed;           /* samples that say where a thread waits, runs or wakes one */
};

struct engine_exit { uint32_t pid, tid; bool is_target; };   /* ids 0: none yet */

struct engine_window {
	uint64_t start_ns, end_ns;   /* samples outside of [start, end] are ignored */
	struct pausegaps gaps;       /* samples in these are ignored, too */
	uint64_t *gap_value;         /* per event: the sum of those samples; never reset */
	uint64_t first_ns, last_ns;  /* of the samples that were counted */
};

struct engine_gc { struct gc_tables tables; struct gc_threads threads; };
struct engine {
	struct engine_options options;
	struct budget budget;
	struct strtab strings;
	struct dso_table dsos;
	struct procs procs; struct owners owners;
	struct targets targets;
	struct frames frames; struct stacks stacks; struct vfuncs vfuncs;
	struct labels labels;
	struct functions functions;  /* that interpreters execute */
	struct applabels app; struct golabels go;  /* only with a host */
	struct counts counts;
	struct stack_walk walk;
	struct jit jit;
	struct jitcode kernel_code;  /* by KSYMBOL records: BPF programs, trampolines */
	struct engine_event *event;
	struct samplelabels own_labels;
	struct locklabels locks;
	struct engine_window window;
	VEC(struct engine_exit) last_exit; /* per CPU: the last task that exited */
	struct throttle throttle;
	VEC(uint64_t) last_count;    /* per CPU and event, if weighed by the counter */
	struct reread_maps reread;
	struct stack_patchlater_pool late_pool;
	struct engine_gc gc;
	struct waits waits; struct wakees wakees;  /* only with options.waits */
	struct allocs allocs;        /* blocks in use, of kinds that have some */
	/* Samples of probes without some argument; threads and processes created by targets. */
	uint64_t n_args_unknown, n_born;
	struct unwound in_shards;    /* by the shards of this engine */
};

int engine_init(struct engine *g, const struct engine_options *o, struct err *e);  /* -ENOMEM */
void engine_done(struct engine *g);
void engine_feed(struct engine *g, const struct record *r);
struct engine_label { const char *key, *value; };
struct engine_values {               /* what a sample adds to the counts */
	uint64_t n, value;           /* how many samples, and the sum of what they stand for */
	const struct engine_label *label;  /* in addition to those of the thread */
	size_t n_labels;
	bool is_look;                /* the sample has two registers only: engine_add_look */
};

/* If memory is short, too. */
void engine_count(struct engine *g, uint32_t event, uint32_t stack, uint32_t labels, uint64_t n,
		  uint64_t value);

/* Like engine_feed, for a SAMPLE whose values are neither its period nor its counter. */
void engine_add_sample(struct engine *g, const struct record *r, const struct engine_values *v);

/* Empties the profile and resets all statistics, but keeps processes and code.  -ENOMEM. */
int engine_clear(struct engine *g, struct err *e);

/* Accounts for n samples that the kernel could not deliver. */
void engine_add_lost(struct engine *g, uint32_t event, uint64_t n, uint64_t value);

#endif
