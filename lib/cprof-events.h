#ifndef CPROF_EVENTS_H
#define CPROF_EVENTS_H

/*
 * The catalogue behind `cprof list`: all events with a name, and what this machine and
 * this user can do with each, tested by opening it on the calling process.
 */

#include <stdbool.h>
#include <stddef.h>

struct err;
struct evopen;
struct cprof_event_probe;

/* An event with a name.  All strings are static, but for those that cprof_event_each gives. */
struct cprof_event {
	const char *name;     /* as -e takes it, and as files are named */
	const char *aliases;  /* space separated, "" when none */
	const char *group;    /* "software", "hardware", "cache", or the PMU, "tracepoint" */
	const char *what;     /* one line for people */
};

/* Fills *ret with event i, in groups; false behind the end. */
bool cprof_event_at(size_t i, struct cprof_event *ret);

enum cprof_event_state {
	CPROF_EVENT_YES,        /* user and kernel code */
	CPROF_EVENT_USER_ONLY,  /* the kernel's side may not be sampled */
	CPROF_EVENT_NO,
};

/* What holds for all events of this machine and user. */
struct cprof_event_machine {
	unsigned long max_rate_hz;   /* kernel.perf_event_max_sample_rate */
	const char *why_no_pmu;      /* NULL: the PMU works; static */
	const char *why_not_cpus;    /* NULL: whole CPUs may be sampled; static */
};

/* Opens /proc and /sys and finds out the machine's facts, which takes 5 ms at most.
 * -errno with e set.  The caller frees. */
int cprof_event_probe_new(struct cprof_event_probe **ret_probe, struct err *e);
void cprof_event_probe_free(struct cprof_event_probe *p);

/* The same for a test's machine; o and its host are borrowed. */
int cprof_event_probe_new_at(const struct evopen *o, struct cprof_event_probe **ret_probe,
			     struct err *e);

/* Borrowed until the probe is freed. */
const struct cprof_event_machine *cprof_event_machine(const struct cprof_event_probe *p);

/* Calls fn for each event that has a name here, until it returns false: the table's, those of PMUs
 * as sysfs describes them, tracepoints that may be read, and libpfm4's of this CPU.  With pmu only
 * those of one PMU (perhaps of another machine's model that libpfm4 knows), or "tracepoint".
 * Strings are valid during the call.  -errno with e set. */
typedef bool cprof_event_fn(void *ctx, const struct cprof_event *ev);
int cprof_event_each(const struct cprof_event_probe *p, const char *pmu, cprof_event_fn *fn,
		     void *ctx, struct err *e);

/* A PMU; strings are valid during the call. */
struct cprof_pmu {
	const char *name;
	const char *what;     /* one line, "" none */
	const char *cpus;     /* "0-7", "" all */
	const char *fields;   /* names of its terms, space separated */
	unsigned type;        /* perf_event_attr.type */
	size_t n_events;      /* with a name */
	bool is_core;         /* of the CPU's cores */
	bool is_model;        /* of libpfm4's tables: a CPU model's names of events */
	bool is_here;         /* this machine has it */
};
/* Calls fn for each, those of sysfs first, until it returns false.  -errno with e set. */
typedef bool cprof_pmu_fn(void *ctx, const struct cprof_pmu *pmu);
int cprof_pmu_each(const struct cprof_event_probe *p, cprof_pmu_fn *fn, void *ctx, struct err *e);

/* Was cprof built with libpfm4? */
bool cprof_has_models(void);

/*
 * Tests one event in the grammar of cprof-events(7), a raw one too.  *ret_reason says in few words
 * why it is not CPROF_EVENT_YES (static; "" when it is).  -EINVAL with e set for text that is
 * not one event.
 */
int cprof_event_test(const struct cprof_event_probe *p, const char *text,
		     enum cprof_event_state *ret_state, const char **ret_reason, struct err *e);

#endif
