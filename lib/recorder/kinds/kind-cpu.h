#ifndef CPROF_RECORDER_KINDS_KIND_CPU_H
#define CPROF_RECORDER_KINDS_KIND_CPU_H

/* The parts of the CPU kind: kind-cpu*.c. */

#include "engine/waits.h"
#include "event/evattr.h"
#include "event/evopen.h"
#include "event/evspec.h"
#include "probe/probelocate.h"
#include "proc/cgroup.h"
#include "proc/threadread.h"
#include "recorder/coverage.h"
#include "recorder/kind.h"
#include "recorder/kinds/copysize.h"
#include "recorder/kinds/owntid.h"
#include "recorder/kinds/scopeswitch.h"
#include "recorder/kinds/waitrate.h"

struct kind_cpu_names {
	char sample_type[EVSPEC_NAME_MAX], file_part[EVSPEC_NAME_MAX];
};

/* How many of an event's switches or wake-ups are sampled. */
struct kind_cpu_thin {
	struct waitrate rate;
	uint32_t event;                 /* UINT32_MAX: there is none */
	bool is_off;                    /* in bursts: between two of them */
	uint64_t began_ns, n_began;     /* the present burst: when, and the samples before it */
	uint64_t until_ns;              /* of the present burst or pause */
};

struct kind_alloc; struct kind_cpu_copies; struct kind_cpu_functions; struct kind_cpu_tasks;
struct procs_thread;

struct kind_cpu_waits {
	uint32_t event;                 /* the one with records of switches */
	const char *only_polls;         /* why /proc alone is read; NULL: there are perf events */
	struct kind_cpu_polls *polls;   /* NULL: it has not started */
	bool only_looks;                /* stacks come from /proc */
	bool can_look, was_denied, is_reading;
	struct callregs_numbers regs;
	struct waits_code code[WAITS_CODE_MAX];
	struct kind_cpu_thin switches, wakes;
	bool in_bursts;                 /* kind-cpu-thin.c */
	uint32_t random;
	struct threadread *look;        /* NULL: there are no waits, or it has not started */
	uint64_t next_ns, next_lock_ns, next_reading_ns;  /* looks; of holders; of short waits */
	uint64_t n_placed;              /* samples so far; they set when the next look is due: */
	int notice_ms;
	struct owntid owntid;
	struct kind_cpu_functions *functions;  /* NULL: not needed yet */
	struct kind_cpu_tasks *tasks;  /* likewise */
	uint64_t n_partial, partial_ns; /* waits with a cut stack, and the time of the last one */
	uint64_t n_switches, active_ns; /* the same of records of switches */
};

/* k->state: what is requested, then what was opened. */
struct kind_cpu {
	struct evspec_list events;      /* one per event of the session */
	struct kind_cpu_names *names;   /* per event */
	struct evattr_options attr;
	struct evopen open;
	uint64_t quantum_ns;            /* the session's -c, if that is a time */
	uint64_t one_of;                /* of so many switches one is sampled; 0: see waitrate.h */
	const char *only_event;         /* instead of those of the configuration, or NULL */
	struct probelocate_options probes;
	struct cgroup cgroup;
	struct copysize copysize;
	struct kind_cpu_waits waits;
	const struct procs *procs;      /* the engine's, once the source was drained */
	const struct targets *targets;  /* also */
	bool may_change;                /* the scope may change while recording */
	bool needs_filter;              /* the scope cpu is for samples of the target only */
	uint64_t filter_seen_ns;        /* 0: never */
	struct kind_cpu_copies *copies; /* NULL: no interpreter was met */
	const char *no_cgroup;          /* why a command has none; NULL: unknown, or no command */
	struct scopeswitch scope;
	struct kind_alloc *alloc;       /* of the kinds alloc and heap; or NULL */
	struct coverage used;           /* may_change: for the kernel's accounts */
};

/* Fills k->event[i] in from the event, also after it was replaced. */
void kind_cpu_describe(struct kind_session *k, size_t i);

int kind_cpu_choose(struct kind_session *k, struct err *e);

/* Of running processes: how many threads they have. */
uint64_t kind_cpu_n_threads(const struct kind_session *k);

/* Once the targets are checked: sets k->scope, with its reason and cgroup. */
int kind_cpu_choose_scope(struct kind_session *k, struct err *e);

/* After the events could not be opened (-errno r), for the reason e: chooses another scope; false:
 * there is none. */
bool kind_cpu_next_scope(struct kind_session *k, int r, const struct err *e);

/* Adds to the reason for the scope. */
void kind_cpu_add_reason(struct kind_session *k, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* Replaces the events of threads by events of CPUs, or the reverse: livescope_set in
 * source/live/live.h.  It takes a while. */
int kind_cpu_replace_events(struct kind_session *k, enum cprof_scope to, struct err *e);
bool kind_cpu_is_replacing(const struct kind_session *k);

void kind_cpu_log_scope(const struct kind_session *k);

void kind_cpu_choose_callgraph(struct kind_session *k);

/* Waits (kind-cpu-waits.c).  choose runs before the events are opened. */
bool kind_cpu_waits_any(const struct kind_cpu *c);
int kind_cpu_waits_check(const struct kind_session *k, struct err *e);
int kind_cpu_waits_choose(struct kind_session *k, struct err *e);
/* Changes of the scope while recording (kind-cpu-scope.c).  possible: for this configuration and
 * these events.  change: does it, and notes it with the reason (static); -errno with e set: nothing
 * has changed. */
bool kind_cpu_scope_possible(const struct kind_session *k);
int kind_cpu_scope_init(struct kind_session *k, struct err *e);
void kind_cpu_scope_drained(struct kind_session *k, const struct engine *g, uint64_t now_ns);
int kind_cpu_scope_timeout_ms(const struct kind_session *k);
int kind_cpu_scope_change(struct kind_session *k, enum cprof_scope to, uint64_t now_ns,
			  const char *why, struct err *e);

/* Looks at threads without a sample (kind-cpu-looks.c).  These three are the kind's. */
int kind_cpu_looks_started(struct kind_session *k, struct engine *g, struct err *e);
void kind_cpu_looks_drained(struct kind_session *k, struct engine *g);
int kind_cpu_looks_timeout_ms(const struct kind_session *k);
/* What a call waits for, and which lock that is; zeros: none. */
enum waits_reason kind_cpu_looks_reason(long syscall);
struct lockread_wait kind_cpu_looks_lock(const struct threadread_call *call);
/* engine_add_look, and who holds the lock that the thread was seen waiting for. */
void kind_cpu_looks_add(struct kind_cpu_waits *w, struct engine *g, const struct record *r,
			const struct waits_look *look);
bool kind_cpu_looks_is_first(const struct cprof_config *c, const struct procs_thread *t);

/* Samples fewer switches if there are many (kind-cpu-thin.c).  choose runs before the scope is
 * known, use_bursts when it is; the others belong to those of waits, and to the kind's stats. */
void kind_cpu_thin_choose(struct kind_session *k);
void kind_cpu_thin_use_bursts(struct kind_session *k);
void kind_cpu_thin_drained(struct kind_session *k, struct engine *g);
int kind_cpu_thin_timeout_ms(const struct kind_session *k);
void kind_cpu_thin_stats(const struct kind_session *k, struct cprof_stats *ret);

int kind_cpu_why_empty(const struct kind_session *k, const struct cprof_stats *stats,
		       const struct cprof_event_stats *event, struct err *e);

#endif
