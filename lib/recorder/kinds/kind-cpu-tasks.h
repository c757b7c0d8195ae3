#ifndef CPROF_RECORDER_KINDS_KIND_CPU_TASKS_H
#define CPROF_RECORDER_KINDS_KIND_CPU_TASKS_H

/* Goroutines that wait for each other, read in the memory of Go programs while `block` is
 * recorded: all functions do nothing without that event. */

#include <stdint.h>

struct engine;
struct kind_cpu_tasks;
struct kind_session;

void kind_cpu_tasks_drained(struct kind_session *k, struct engine *g);
/* Reports how far apart the readings were. */
void kind_cpu_tasks_ended(struct kind_session *k);
int kind_cpu_tasks_timeout_ms(const struct kind_session *k);
void kind_cpu_tasks_free(struct kind_session *k);

#endif
