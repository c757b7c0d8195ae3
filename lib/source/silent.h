#ifndef CPROF_SOURCE_SILENT_H
#define CPROF_SOURCE_SILENT_H

/* A source without records, for recordings that read /proc where perf events are closed. */

struct err;
struct source;

/* Of the running machine.  -ENOMEM with e set. */
int silent_open(struct source **ret_source, struct err *e);

#endif
