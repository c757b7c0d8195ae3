#ifndef CPROF_RECORDER_KIND_EVENT_H
#define CPROF_RECORDER_KIND_EVENT_H

#include <stdbool.h>
#include <stdint.h>

struct evusdt_args;

/* An event that a kind has opened: the source gives its records this event's index. */
struct kind_event {
	const char *name;               /* borrowed from the kind until close, like all strings */
	const char *file_part;          /* the name as a part of a file name */
	/* Each sample has two values: a count of this type (NULL: "samples"), and an amount. */
	const char *count_type;
	const char *sample_type, *unit;
	/* As in struct export_info (profile/export.h). */
	bool is_memory;
	const char *held_count_type, *held_type, *period_type;
	const char *peak_count_type, *peak_type;
	uint32_t output;                /* the profile it goes to: events may share one */
	uint32_t group;                 /* of events that are counted together; 0: none */
	bool is_member;                 /* of a group: another event's samples carry its values */
	bool is_clock;                  /* its amount is CPU time in ns */
	bool is_count;                  /* readers show the count first, not the amount */
	unsigned waits;                 /* enum waits_role bits (engine/waits.h), set by open */
	uint64_t quantum_ns;            /* waits are counted in whole quanta; 0: exactly */
	bool by_count;                  /* samples are weighed by the event's counter */
	/* The source delivers no samples of other tasks.  It may still lose records of their
	 * mappings and forks, which the kernel counts, too. */
	bool is_filtered;
	/* It leaves some of them out, so that between two samples the counter may include
	 * others. */
	bool has_gaps;
	bool is_freq;                   /* rate is in Hz, else it is a period */
	uint64_t rate;                  /* as opened */
	uint64_t period;                /* amount of samples that carry none; 0: it varies */
	const struct evusdt_args *args; /* of a probe, for its samples; NULL: none are used */
	bool by_argument;               /* its amount is an argument of a probe: args */
	const char *pmu;                /* value of its label pmu; NULL: none */
	uint64_t unit_each;             /* what an event counts for in unit, in files; 0: 1 */
	double count_scale;             /* a count times this is one count_unit; 0: none */
	const char *count_unit;
	unsigned precise_asked;
	bool given_up_kernel;           /* the kernel could not be sampled, though requested */
};

#endif
