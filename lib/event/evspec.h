#ifndef CPROF_EVENT_EVSPEC_H
#define CPROF_EVENT_EVSPEC_H

/*
 * What the user asked for with -e: an event, which side, at what rate.  Knows the
 * grammar and the names (cprof-events(7)); opens nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct err;

#define EVSPEC_NAME_MAX 128

enum evspec_rate {
	EVSPEC_RATE_DEFAULT,   /* the session's -F or -c */
	EVSPEC_RATE_FREQ,      /* rate in Hz */
	EVSPEC_RATE_FREQ_MAX,  /* kernel.perf_event_max_sample_rate */
	EVSPEC_RATE_PERIOD,    /* rate in events (ns for clocks) */
};

struct evspec {
	char text[EVSPEC_NAME_MAX];    /* as it was written */
	char name[EVSPEC_NAME_MAX];    /* perf's spelling, or name=; with modifier: "branches:u" */
	uint32_t type;                 /* PERF_TYPE_* */
	uint64_t config, config1, config2, config3;
	bool only_user, only_kernel;   /* modifiers u, k: at most one is set (both = neither) */
	uint8_t precise_ip;
	bool is_clock;                 /* cpu-clock, task-clock: counts nanoseconds */
	bool by_default;               /* chosen by cprof: may be replaced by a software clock */
	enum evspec_rate rate_kind;
	uint64_t rate;
};

struct evspec_list {
	struct evspec *v;
	size_t n;
};

void evspec_list_done(struct evspec_list *l);

/* Parses one -e argument (a comma-separated list) and appends to l; -EINVAL with e saying
 * what is wrong where, with the three nearest names for an unknown one; also when an event
 * is in l already.  -ENOMEM.  l is unchanged on failure. */
int evspec_parse(struct evspec_list *l, const char *text, struct err *e);

/* Does it happen inside the kernel only (context-switches, cpu-migrations)?  The kernel then
 * reports its own registers, so that with user code only there is never a sample. */
bool evspec_in_kernel(const struct evspec *s);

/* Parses "-F" and "-c" arguments: a number, or "max" for -F. */
int evspec_parse_rate(const char *text, bool is_freq, enum evspec_rate *ret_kind,
		      uint64_t *ret_rate, struct err *e);

/* The event's sample type in a profile: "cpu"/"nanoseconds" for clocks, else the name in
 * [a-z0-9_] and "count" ("l1_dcache_load_misses"). Modifiers are left out. */
void evspec_sample_type(const struct evspec *s, char ret_type[EVSPEC_NAME_MAX],
			const char **ret_unit);

/* The event's name as a part of a file name: characters outside [A-Za-z0-9_.-] become '-'. */
void evspec_file_part(const struct evspec *s, char ret_part[EVSPEC_NAME_MAX]);

/* All names for `cprof list` and completion. */
enum evspec_group { EVSPEC_SOFTWARE, EVSPEC_HARDWARE, EVSPEC_CACHE, EVSPEC_N_GROUPS };
struct evspec_known {
	const char *name;         /* canonical */
	const char *aliases;      /* space separated, "" when none */
	enum evspec_group group;
	const char *what;         /* one line for people */
};
/* Entry i of the table, or NULL behind its end. */
const struct evspec_known *evspec_known(size_t i);

#endif
