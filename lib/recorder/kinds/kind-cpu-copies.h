#ifndef CPROF_RECORDER_KINDS_KIND_CPU_COPIES_H
#define CPROF_RECORDER_KINDS_KIND_CPU_COPIES_H

/* The memory of interpreters, copied at samples from the moment on when one was met. */

#include <stdbool.h>

struct engine;
struct kind_session;
struct samplecopy;

/* Was an interpreter met since the last call, for the first time? */
bool kind_cpu_copies_are_due(const struct kind_session *k, const struct engine *g);
/* live: what the kernel copies; NULL: nothing. */
void kind_cpu_copies_begin(struct kind_session *k, struct engine *g,
			   const struct samplecopy *live);

#endif
