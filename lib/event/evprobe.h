#ifndef CPROF_EVENT_EVPROBE_H
#define CPROF_EVENT_EVPROBE_H

/* Probes as events: uprobe:PATH:FUNCTION. */

struct evcursor;

/* At p->at the text begins with "uprobe:". */
int evprobe_parse(struct evcursor *p);

/* The number of the PMU of probes.  -ENODEV with e set: this kernel has none. */
int evprobe_type(const struct evcursor *p, long *ret_type);

#endif
