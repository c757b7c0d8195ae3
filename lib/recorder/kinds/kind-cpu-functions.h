#ifndef CPROF_RECORDER_KINDS_KIND_CPU_FUNCTIONS_H
#define CPROF_RECORDER_KINDS_KIND_CPU_FUNCTIONS_H

/* The functions that interpreters execute in threads that wait. */

struct engine;
struct kind_cpu_functions;
struct kind_session;

/* The first two belong to those of waits (kind-cpu.h); f may be NULL. */
void kind_cpu_functions_drained(struct kind_session *k, struct engine *g);
int kind_cpu_functions_timeout_ms(const struct kind_session *k);
void kind_cpu_functions_free(struct kind_cpu_functions *f);

#endif
