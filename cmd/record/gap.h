#ifndef CPROF_CMD_RECORD_GAP_H
#define CPROF_CMD_RECORD_GAP_H

/* The CPU time that the kernel has accounted for, compared with the time in the samples. */

#include <stdbool.h>
#include <stdio.h>

struct cprof_event_stats;
struct cprof_stats;

struct gap {
	const struct cprof_stats *stats;
	const struct cprof_event_stats *event;
	double percent;          /* the samples of all; negative: unknown */
	bool used_by_ticks;      /* the kernel's account is in clock ticks */
	bool has_unrecorded;     /* the kernel has removed the events of some program */
};

/* A gap of at least two percent that chance does not explain. */
bool gap_is_sure(const struct gap *g);

/* Why a part of the CPU time is not in the profile, or more than all of it. */
void gap_explain(const struct gap *g, FILE *to);

/* The part of the target's CPU time that an event without the kernel's side has not seen. */
void gap_print_unseen(const struct gap *g, FILE *to);

#endif
