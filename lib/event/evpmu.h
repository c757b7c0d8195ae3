#ifndef CPROF_EVENT_EVPMU_H
#define CPROF_EVENT_EVPMU_H

/*
 * The PMUs as sysfs describes them, HOST_SYS/bus/event_source/devices/PMU
 * (Documentation/ABI/testing/sysfs-bus-event_source-devices-*): type, cpus or cpumask, format/
 * with the bits of each term, events/ with named events, their scale and unit.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct host;

struct evpmu {
	char *name;
	uint32_t type;        /* for perf_event_attr.type */
	bool is_core;         /* of the CPU's cores: named "cpu", or with a file "cpus" */
	char *cpus;           /* "cpus" or "cpumask": where it can be opened; NULL: everywhere */
};

struct evpmu_list {
	struct evpmu *v;      /* by name; a VEC (base/vec.h) */
	size_t n, cap;
};

/* All PMUs that have a type; none if there is no such folder.  -ENOMEM. */
int evpmu_list(const struct host *h, struct evpmu_list *ret);
void evpmu_list_done(struct evpmu_list *l);

/* The number of PMUs of cores, that is, of kinds of cores of a hybrid machine. */
size_t evpmu_n_cores(const struct evpmu_list *l);

/*
 * Does the user mean this PMU by the n bytes at name?  That is its name; the name without "_" and a
 * number (uncore_imc for uncore_imc_0); a pattern with '*' or '?'; or "cpu" for all PMUs of cores
 * if none has that name.
 */
bool evpmu_matches(const struct evpmu_list *l, const struct evpmu *p, const char *name, size_t n);

/* Where the bits of a term go: config .. config3, bit by bit from the lowest. */
struct evpmu_bits {
	unsigned word;        /* 0 .. 3 */
	uint64_t mask;
};

/* Parses a format: "config:0-7,32-35", "config1:3"; -EINVAL. */
int evpmu_parse_bits(const char *text, struct evpmu_bits *ret);
/* The format of the PMU's term of n bytes.  -ENOENT, -EINVAL. */
int evpmu_format(const struct host *h, const struct evpmu *p, const char *term, size_t n,
		 struct evpmu_bits *ret);
/* Puts value into config[bits->word]; false, with nothing changed, if it has too many bits. */
bool evpmu_spread(const struct evpmu_bits *bits, uint64_t value, uint64_t config[4]);

/* A named event. */
struct evpmu_event {
	char *terms;          /* "event=0x3c,umask=0x1" */
	double scale;         /* 0: no scale */
	char unit[16];        /* "": no unit */
};
/* -ENOENT.  The caller frees ret->terms. */
int evpmu_event(const struct host *h, const struct evpmu *p, const char *name, size_t n,
		struct evpmu_event *ret);

/* The names in the PMU's folder "events" or "format", sorted, separated by '\n'; "" if there are
 * none.  The caller frees.  NULL: no memory. */
char *evpmu_names(const struct host *h, const struct evpmu *p, const char *folder);

#endif
