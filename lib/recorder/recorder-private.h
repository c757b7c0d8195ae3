#ifndef CPROF_RECORDER_RECORDER_PRIVATE_H
#define CPROF_RECORDER_RECORDER_PRIVATE_H

/* What a recorder holds; shared by recorder*.c, setup.c, window.c and why-empty.c. */

#include "base/host.h"
#include "base/log.h"
#include "cprof.h"
#include "event/evspec.h"
#include "recorder/ratecut.h"
#include "recorder/ahead.h"
#include "proc/cgroup.h"
#include "recorder/coverage.h"
#include "engine/engine.h"
#include "profile/names.h"
#include "recorder/slices.h"
#include "recorder/copysize.h"
#include "source/live/live.h"

struct err;

struct recorder_event {
	char sample_type[EVSPEC_NAME_MAX];
	char file_part[EVSPEC_NAME_MAX];
	const char *unit;
	uint64_t n_lost;           /* as the kernel counted them; valid after stop */
	struct source_count base;    /* when the window opened */
	struct source_count count;   /* within the window; valid after stop */
	uint64_t rate;             /* as opened: Hz or period; --adaptive may have lowered it */
	struct ratecut adaptive;
	VEC(struct cprof_rate_cut) cuts;
	uint64_t sample_cost_ns;   /* 0: unknown */
};

struct cprof_recorder {
	struct cprof_config config;
	const struct cprof_kind *kind;
	struct log log_sink;
	const struct log *log;         /* explanations: log_sink or NULL */
	pid_t owner;                   /* the process that made it */
	pid_t self;                    /* the target that config.self stands for */
	struct host own_host;
	const struct host *host;
	struct evspec_list events;
	struct recorder_event *event;  /* per event of events: variants have their own */
	uint32_t *output;              /* per event: see engine_options */
	const char **pmu;              /* likewise */
	enum live_scope scope;
	uint64_t *period;              /* per event: see engine_options.period */
	uint64_t by_count;             /* bit per event: weighed by its counter (engine.c) */
	uint32_t max_stack;            /* kernel.perf_event_max_stack */
	uint32_t max_branches;         /* calls that the CPU can record; 0 unknown */
	struct source *source;
	struct cgroup cgroup;
	struct coverage coverage;
	struct copysize stacksize;
	bool has_user_chain;           /* asked for, beside stack copies: stackadapt.c */
	struct engine engine;
	struct names names;
	struct ahead_seen ahead_seen;
	uint32_t names_compactions;    /* the engine's n_compactions for which names are */
	int poll_fd;                   /* see cprof_recorder_fd; -1: none */
	struct slices slices;          /* config.keep_last_ns */
	int *pidfd;
	size_t n_pidfds, n_gone;
	int64_t start_realtime_ns;
	uint64_t cpu_before_ns;        /* CPU time of the process when it was made */
	uint64_t start_ns, end_ns;     /* CLOCK_MONOTONIC */
	uint64_t resumed_ns;           /* the last pause's end, or start_ns */
	uint64_t active_ns;            /* of the window, before that */
	bool paused;
	uint64_t paused_ns;            /* since when */
	bool pauses_are_short;         /* the last one was: see window.c */
	bool some_paused;              /* single events are */
	bool is_partial;               /* the kernel's accounts are of other times, too */
	bool counted;                  /* counters were read for a snapshot */
	bool engine_ready, names_ready, started, stopped, window_open;
};

/* What the caller was compiled with: an older config is shorter, of a longer one the rest must be
 * zero (-E2BIG). */
int recorder_take_config(struct cprof_config *c, const void *config, size_t n_bytes, struct err *e);

/* -ECHILD in a process that was forked since. */
int recorder_check_owner(const struct cprof_recorder *r, struct err *e);

/* What was opened first for one of the user's events: index into events. */
size_t recorder_first_variant(const struct cprof_recorder *r, size_t event);

#endif
