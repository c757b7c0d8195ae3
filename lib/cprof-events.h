#ifndef CPROF_EVENTS_H
#define CPROF_EVENTS_H

/*
 * The catalogue of `cprof list`: all named events, and what this machine and this user can do with
 * each of them, tested by opening it on the calling process.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct evopen;
struct cprof_event_probe;

/* A named event.  All strings are static, except those that cprof_event_each passes. */
struct cprof_event {
	const char *name;     /* for -e and for file names */
	const char *aliases;  /* space-separated, may be "" */
	const char *group;    /* "software", "hardware", "cache", or the PMU, "tracepoint" */
	const char *what;     /* one line for people */
};

/* Fills *ret with event i, in groups; false after the last one. */
bool cprof_event_at(size_t i, struct cprof_event *ret);

enum cprof_event_state {
	CPROF_EVENT_YES,        /* user and kernel code */
	CPROF_EVENT_USER_ONLY,  /* the kernel's side may not be sampled */
	CPROF_EVENT_NO,
};

/* Facts about all events of this machine and user. */
struct cprof_event_machine {
	unsigned long max_rate_hz;   /* kernel.perf_event_max_sample_rate */
	const char *why_no_pmu;      /* NULL: the PMU works; static */
	const char *why_not_cpus;    /* NULL: whole CPUs may be sampled; static */
};

/* Opens /proc and /sys and examines the machine, which takes 5 ms at most.
 * -errno with e set.  The caller frees. */
int cprof_event_probe_new(struct cprof_event_probe **ret_probe, struct err *e);
void cprof_event_probe_free(struct cprof_event_probe *p);

/* The same for the machine of a test; o and its host are borrowed. */
int cprof_event_probe_new_at(const struct evopen *o, struct cprof_event_probe **ret_probe,
			     struct err *e);

/* Borrowed until the probe is freed. */
const struct cprof_event_machine *cprof_event_machine(const struct cprof_event_probe *p);

/* Calls fn for each named event until it returns false: events of the table, of PMUs in sysfs,
 * readable tracepoints, and libpfm4's events of this CPU.  With pmu, only events of that PMU, which
 * may be a model of another machine that libpfm4 knows, or "tracepoint".  Strings are valid during
 * the call.  -errno with e set. */
typedef bool cprof_event_fn(void *ctx, const struct cprof_event *ev);
int cprof_event_each(const struct cprof_event_probe *p, const char *pmu, cprof_event_fn *fn,
		     void *ctx, struct err *e);

/* A PMU; strings are valid during the call. */
struct cprof_pmu {
	const char *name;
	const char *what;     /* one line, may be "" */
	const char *cpus;     /* "0-7", "" all */
	const char *fields;   /* names of its terms, space-separated */
	unsigned type;        /* perf_event_attr.type */
	size_t n_events;      /* named ones */
	bool is_core;         /* of the CPU's cores */
	bool is_model;        /* a CPU model of libpfm4 */
	bool is_here;         /* this machine has it */
};
/* Calls fn for each PMU, those of sysfs first, until it returns false.  -errno with e set. */
typedef bool cprof_pmu_fn(void *ctx, const struct cprof_pmu *pmu);
int cprof_pmu_each(const struct cprof_event_probe *p, cprof_pmu_fn *fn, void *ctx, struct err *e);

/* A USDT probe; strings are valid during the call. */
struct cprof_probe {
	const char *file;
	const char *provider, *name;
	const char *args;     /* of its first location, as in its note: "-4@%edi 8@$5"; may be "" */
	size_t n_locations;
	bool has_semaphore;   /* the program knows whether somebody uses it */
};
/* Calls fn for each probe of a file, or of the files that process pid has mapped if file is NULL,
 * until it returns false.  -ENOENT: there is none; -errno; e is set. */
typedef bool cprof_probe_fn(void *ctx, const struct cprof_probe *probe);
int cprof_probe_each(const struct cprof_event_probe *p, const char *file, int pid,
		     cprof_probe_fn *fn, void *ctx, struct err *e);

/* Was cprof built with libpfm4? */
bool cprof_has_models(void);

/*
 * Tests one event in the syntax of cprof-events(7), including raw ones.  *ret_reason is a short
 * reason if the state is not CPROF_EVENT_YES (static; "" if it is).  -EINVAL with e set if the text
 * is not one event.
 */
int cprof_event_test(const struct cprof_event_probe *p, const char *text,
		     enum cprof_event_state *ret_state, const char **ret_reason, struct err *e);

#endif
