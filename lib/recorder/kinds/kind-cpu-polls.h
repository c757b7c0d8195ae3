#ifndef CPROF_RECORDER_KINDS_KIND_CPU_POLLS_H
#define CPROF_RECORDER_KINDS_KIND_CPU_POLLS_H

/* Waits that are measured by polling /proc alone: without perf events, or without descriptors for
 * as many as there would have to be. */

struct engine;
struct err;
struct kind_cpu_polls;
struct kind_session;

#define KIND_CPU_POLLS_EVERY_NS 10000000u

/* Why it is needed, and possible for these events; NULL: it is not. */
const char *kind_cpu_polls_why(const struct kind_session *k);

/* Replaces the open of the kind; the others are called by those of waits. */
int kind_cpu_polls_open(struct kind_session *k, struct err *e);
int kind_cpu_polls_started(struct kind_session *k, struct engine *g, struct err *e);
void kind_cpu_polls_drained(struct kind_session *k, struct engine *g);
int kind_cpu_polls_timeout_ms(const struct kind_session *k);
void kind_cpu_polls_free(struct kind_cpu_polls *l);

#endif
