#ifndef CPROF_RECORDER_COST_H
#define CPROF_RECORDER_COST_H

/* What a recording costs, and a rate that is lowered when the machine cannot bear it. */

#include <stddef.h>
#include <stdint.h>

struct cprof_event_stats;
struct cprof_recorder;
struct cprof_stats;
struct err;

/* CPU time of this process so far, in ns. */
uint64_t cost_cpu_ns(void);

/* When the window opens: ratecut_judge counts from here. */
void cost_start(struct cprof_recorder *r);

/* --adaptive: halves the rates of events that were throttled or lost samples. */
int cost_adapt(struct cprof_recorder *r, struct err *e);

/* After the last record: ends open pauses, measures what samples cost. */
void cost_stop(struct cprof_recorder *r);

/* Fill in what is known here, leave the rest alone. */
void cost_stats(const struct cprof_recorder *r, struct cprof_stats *ret);
void cost_event_stats(const struct cprof_recorder *r, size_t event,
			  struct cprof_event_stats *ret);

#endif
