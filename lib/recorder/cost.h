#ifndef CPROF_RECORDER_COST_H
#define CPROF_RECORDER_COST_H

/* The cost of a recording; lowers rates that the machine cannot sustain. */

#include <stddef.h>
#include <stdint.h>

struct cprof_event_stats;
struct cprof_recorder;
struct cprof_stats;
struct err;

/* CPU time of this process so far, in ns. */
uint64_t cost_cpu_ns(void);

/* The window opens: ratecut_judge counts from here. */
void cost_start(struct cprof_recorder *r);

/* --adaptive: halves the rates of events that were throttled or lost samples. */
int cost_adapt(struct cprof_recorder *r, struct err *e);

/* After the last record: ends open throttling, measures what samples cost. */
void cost_stop(struct cprof_recorder *r);

/* Set the fields that are known here; leave the others alone. */
void cost_stats(const struct cprof_recorder *r, struct cprof_stats *ret);
void cost_event_stats(const struct cprof_recorder *r, size_t event,
			  struct cprof_event_stats *ret);

#endif
