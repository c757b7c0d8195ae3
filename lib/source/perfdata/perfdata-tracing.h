#ifndef CPROF_SOURCE_PERFDATA_PERFDATA_TRACING_H
#define CPROF_SOURCE_PERFDATA_PERFDATA_TRACING_H

/* The descriptions of tracepoints in a perf.data file; see perfdata_tracepoint(). */

#include <stdbool.h>

struct bytes;
struct perfdata;

/* Reads a header section, or the data after a record of a stream.  False if they contradict
 * themselves; what was read up to there is kept. */
bool perfdata_tracing(struct perfdata *p, struct bytes b);
void perfdata_tracing_done(struct perfdata *p);

#endif
