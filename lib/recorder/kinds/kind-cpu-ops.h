#ifndef CPROF_RECORDER_KINDS_KIND_CPU_OPS_H
#define CPROF_RECORDER_KINDS_KIND_CPU_OPS_H

/* What the CPU kind lends to other kinds that open perf events: the operations of struct
 * cprof_kind, and a choose. */

#include "recorder/kinds/kind-cpu.h"

/* Instead of the configuration's events. */
struct kind_cpu_only {
	const char *event;              /* in the grammar of events; NULL: the configuration's */
	uint64_t one_of;                /* switches: one of so many is sampled; 0: as many as
					 * switch_rate_max allows */
	struct probelocate_options probes;
};
int kind_cpu_choose_only(struct kind_session *k, const struct kind_cpu_only *only, struct err *e);

int kind_cpu_open(struct kind_session *k, struct err *e);
void kind_cpu_drained(struct kind_session *k, struct engine *g, uint64_t now_ns);
void kind_cpu_ended(struct kind_session *k, struct engine *g, uint64_t end_ns);
int kind_cpu_timeout_ms(const struct kind_session *k);
int kind_cpu_find_event(const struct kind_session *k, const char *name);
void kind_cpu_stats(const struct kind_session *k, struct cprof_stats *ret);
double kind_cpu_coverage(const struct kind_session *k, const struct cprof_stats *stats,
			 const struct cprof_event_stats *event);
void kind_cpu_close(struct kind_session *k);

#define KIND_CPU_OPERATIONS                                                                    \
	.open = kind_cpu_open, .started = kind_cpu_looks_started, .drained = kind_cpu_drained, \
	.ended = kind_cpu_ended, .timeout_ms = kind_cpu_timeout_ms,                            \
	.find_event = kind_cpu_find_event, .stats = kind_cpu_stats,                            \
	.coverage_percent = kind_cpu_coverage, .why_empty = kind_cpu_why_empty,                \
	.close = kind_cpu_close

#endif
