#ifndef CPROF_EVENT_EVPFM_H
#define CPROF_EVENT_EVPFM_H

/*
 * The vendors' event names, from libpfm4, an optional library with tables for a hundred CPU models:
 * "skl::MEM_LOAD_RETIRED:L1_HIT", or "MEM_LOAD_RETIRED:L1_HIT" for this machine's CPU. Without it
 * (evpfm-none.c) there are none.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

/* The part of struct perf_event_attr that an event determines. */
struct evpfm_attr {
	uint32_t type;
	uint64_t config, config1, config2;
	bool only_user, only_kernel;
	uint8_t precise_ip;
	uint64_t period;      /* 0: not given; Hz with is_freq */
	bool is_freq;
};

/* -ENOENT: no such event; -ENODEV: of another CPU; -EINVAL: malformed; -EOPNOTSUPP: cprof was built
 * without libpfm4.  e is set. */
int evpfm_find(const char *text, struct evpfm_attr *ret, struct err *e);

/* Was cprof built with libpfm4? */
bool evpfm_is_there(void);

/* A CPU model or PMU of the tables. */
struct evpfm_pmu {
	const char *name;     /* "skl" */
	const char *what;     /* "Intel Skylake" */
	bool is_here;         /* this machine has it */
	int n_events;
};
/* Entry i; false after the last one (unused numbers have name NULL). */
bool evpfm_pmu_at(int i, struct evpfm_pmu *ret);

/* An event or, with a unit mask, one way of counting it. */
struct evpfm_event {
	const char *name;     /* "skl::MEM_LOAD_RETIRED:L1_HIT"; valid until the next call */
	const char *what;
};
typedef bool evpfm_fn(void *ctx, const struct evpfm_event *ev);
/* Calls fn for each event of PMU i, until it returns false. */
void evpfm_each(int i, evpfm_fn *fn, void *ctx);

#endif
