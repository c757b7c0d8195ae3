#ifndef CPROF_RECORDER_KINDS_TARGETGO_H
#define CPROF_RECORDER_KINDS_TARGETGO_H

#include <stdbool.h>

struct cprof_config;
struct host;

/* Is the command's file, or that of a process to be recorded, a program of Go's?  For events that
 * cannot be opened anew once that shows. */
bool targetgo_any(const struct host *h, const struct cprof_config *c);

#endif
